"""Refuse every address but this machine's own, and note who asked for another.

tools/offline.py lets each Python process load this as `sitecustomize`. It is an audit hook, as
that sees what any library does with sockets.
"""
import errno
import os
import re
import socket
import sys

ADDRESSES = ("socket.connect", "socket.sendto", "socket.sendmsg")  # events with (socket, address)
NAMES = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr")
HERE = re.compile(r"127(\.\d+){3}|0\.0\.0\.0|::1?|localhost|")


def is_here(host) -> bool:
    host = host.decode() if isinstance(host, bytes) else host or ""
    return HERE.fullmatch(host) is not None or host == socket.gethostname()


def refuse(event: str, arguments: tuple) -> None:
    if event in ADDRESSES and isinstance(arguments[1], tuple):  # else a socket of the file system
        host = arguments[1][0]
    elif event in NAMES:
        host = arguments[0]
    else:
        return
    if not is_here(host):
        # a kernel inherits PYTEST_CURRENT_TEST from the test that started it
        who = os.environ.get("PYTEST_CURRENT_TEST", sys.argv[0]).split(" (")[0].split("::Cell")[0]
        with open(os.environ["OFFLINE_LOG"], "a", encoding="utf-8") as log:
            log.write(f"{who} asked for {host}\n")
        raise OSError(errno.ENETUNREACH, f"no network here: {host}")


if "OFFLINE_LOG" in os.environ:
    sys.addaudithook(refuse)
