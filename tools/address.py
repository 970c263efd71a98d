"""Write this repository's address wherever it stands: `make address URL=https://github.com/you/name`.

The current one is pyproject.toml's; GitHub, GitLab and Gitee are known. Until an address is set it
is of the domain .invalid, which nobody can register: then set-up cells fetch nothing.
"""
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

from tools import setup

NOBODYS = "https://address.invalid/lessons"
UPLOAD = "https://colab.research.google.com/?{host}/{path}{main}"  # asks for a file
FORMS = {  # Colab, website, Binder
    "github.com": ("https://colab.research.google.com/github/{path}{main}",
                   "https://{owner}.github.io/{name}/", "https://mybinder.org/v2/gh/{path}/main"),
    "gitlab.com": (UPLOAD, "https://{owner}.gitlab.io/{name}/",
                   "https://mybinder.org/v2/gl/{quoted}/main"),
    "gitee.com": (UPLOAD, "https://{host}/{path}/releases",
                  "https://mybinder.org/v2/git/https%3A%2F%2F{host}%2F{quoted}/main"),
    "address.invalid": tuple(f"https://address.invalid/{word}"
                             for word in ("colab{main}", "site/", "binder/")),
}


def forms(address):
    """What stands for the address in different places; exits if its host isn't known."""
    host, path = urlsplit(address).netloc, urlsplit(address).path[1:]
    owner, _, name = path.rpartition("/")
    if address != NOBODYS and not (host in FORMS and owner and name):
        sys.exit(f"{address} is not of the form https://HOST/owner/name, where HOST is github.com, "
                 "gitlab.com or gitee.com.")
    found = [form.format(host=host, path=path, owner=owner, name=name, quoted=quote(path, ""),
                         main=f"/blob/{setup.tag()}/notebooks/") for form in FORMS[host]]
    return [*found, f"make -C {name} ", f"lab/tree/{name}/", address]


def files():
    """The repository's files by name; those of an unpacked archive where git knows none."""
    try:
        command = ["git", "ls-files", "-z"]
        listed = subprocess.run(command, cwd=setup.ROOT, capture_output=True, text=True).stdout
    except OSError:  # no git here
        listed = ""
    if names := listed.split("\0")[:-1]:
        return names
    found = []
    for folder, folders, names in os.walk(setup.ROOT):
        folders[:] = [name for name in folders if name != "dist" and (
            name == ".github" or not name.startswith("."))]
        found += [Path(folder, name).relative_to(setup.ROOT).as_posix() for name in names]
    return found


def main(url):
    new = url.strip().rstrip("/").removesuffix(".git")
    pairs = list(zip(forms(setup.address()), forms(new)))
    if new == setup.address():
        sys.exit(f"{new} is the address already: nothing to change.")
    changed = 0
    for path in (setup.ROOT / name for name in files() if not name.startswith(("tools", "tests"))):
        try:
            text = old = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):  # pictures, what is deleted
            continue
        for one, other in pairs:
            text = text.replace(one, other)
        if text != old:
            path.write_text(text, encoding="utf-8", newline="\n")
            print(path.relative_to(setup.ROOT))
            changed += 1
    if not changed:
        sys.exit(f"No file in {setup.ROOT} holds the address {setup.address()}: nothing changed.")
    print(f"Then commit, and push main and the tag {setup.tag()}, which Colab opens and fetches:\n"
          f"git push origin main && git tag {setup.tag()} && git push origin {setup.tag()}")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
