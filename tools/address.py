"""Write this repository's address wherever it stands: `make address URL=https://github.com/you/name`.

The current one is pyproject.toml's; GitHub, GitLab and Gitee are known. Until an address is set it
is of the domain .invalid, which nobody can register: then set-up cells fetch nothing.
"""
import subprocess
import sys
from urllib.parse import quote, urlsplit

from tools import setup

NOBODYS = "https://address.invalid/lessons"


def forms(address):
    """What stands for the address in different places; exits if its host isn't known."""
    host, (owner, _, name) = urlsplit(address).netloc, urlsplit(address).path[1:].rpartition("/")
    main = "/blob/main/notebooks/"
    upload = f"https://colab.research.google.com/?{host}/{owner}/{name}{main}"  # asks for a file
    binder = "https://mybinder.org/v2/"
    if host == "github.com":
        site = f"https://{owner}.github.io/{name}/"
        colab = f"https://colab.research.google.com/github/{owner}/{name}{main}"
        binder += f"gh/{owner}/{name}/main"
    elif host == "gitlab.com":
        site, colab = f"https://{owner}.gitlab.io/{name}/", upload
        binder += f"gl/{quote(f'{owner}/{name}', '')}/main"
    elif host == "gitee.com":
        site, colab = f"{address}/releases", upload
        binder += f"git/{quote(address, '')}/main"
    elif address == NOBODYS:
        site, colab, binder = (f"https://address.invalid/{word}"
                               for word in ("site/", f"colab{main}", "binder/"))
    else:
        sys.exit(f"{address} is not of the form https://HOST/owner/name, where HOST is github.com, "
                 "gitlab.com or gitee.com.")
    if address != NOBODYS and not (owner and name):
        sys.exit(f"{address} names no owner and repository.")
    return [colab, site, binder, f"make -C {name} ", f"lab/tree/{name}/", address]


def main(url):
    new = url.strip().rstrip("/").removesuffix(".git")
    pairs = list(zip(forms(setup.address()), forms(new)))
    names = subprocess.run(["git", "ls-files", "-z"], cwd=setup.ROOT, capture_output=True,
                           text=True, check=True).stdout.split("\0")[:-1]
    for path in (setup.ROOT / name for name in names if not name.startswith(("tools", "tests"))):
        try:
            text = old = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # pictures, what is deleted
            continue
        for one, other in pairs:
            text = text.replace(one, other)
        if text != old:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(setup.ROOT))


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
