"""Refuse every address but loopback in this Python process, and note who asked: tools/offline.py lets Python load it as `sitecustomize`.

An audit hook, since that sees what any library does with sockets and can't be taken off again.
"""
import errno
import os
import sys

ASKING = {"socket.connect": 1, "socket.sendto": 1, "socket.sendmsg": 1, "socket.getaddrinfo": 0, "socket.gethostbyname": 0, "socket.gethostbyaddr": 0}


def is_here(host) -> bool:
    import ipaddress
    import socket
    host = host.decode() if isinstance(host, bytes) else host
    if host in (None, "", "localhost", socket.gethostname()):
        return True
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


def refuse(event: str, arguments: tuple) -> None:
    if event not in ASKING:
        return
    asked = arguments[ASKING[event]]
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        if not isinstance(asked, tuple):  # a socket of the file system, or one that is connected
            return
        asked = asked[0]
    if not is_here(asked):
        who = os.environ.get("PYTEST_CURRENT_TEST", sys.argv[0]).split(" (")[0]  # a kernel inherits it from the test that started it
        with open(os.environ["OFFLINE_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{who.partition('::Cell')[0]} asked for {asked}\n")
        raise OSError(errno.ENETUNREACH, f"no network here: {asked}")


sys.addaudithook(refuse)
