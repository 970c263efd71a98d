"""Write the repository's public address, which pyproject.toml holds, wherever it is needed.

    python tools/notebooks/address.py           rewrite notebooks, README and the other files that have it
    python tools/notebooks/address.py --check   change nothing, end with 1 if something is out of date

In notebooks: Colab links in any text, the badge in the cell `title`, and the address in the
cell `setup`. In README: Colab links and the line that clones. In d2l_ext/README.md, CITATION.cff and
CHANGELOG.md: every address of a repository on GitHub.
"""
import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SLUG = r"[\w.-]+/[\w-]+(?:\.(?!git\b)[\w-]+)*"  # owner/name, without a closing .git

OTHERS = ("d2l_ext/README.md", "CITATION.cff", "CHANGELOG.md")


def slug():
    """owner/name, from [project.urls] Repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project["urls"]["Repository"]
    found = re.fullmatch(rf"https://github\.com/({SLUG})", address)
    if not found:
        sys.exit(f"pyproject.toml: {address} is not of the form https://github.com/owner/name")
    return found[1]


def colab_links(text, slug):
    return re.sub(rf"(colab\.research\.google\.com/github/){SLUG}(/blob/main/notebooks/)",
                  rf"\g<1>{slug}\2", text)


def own_address(text, slug):
    return re.sub(rf"(github\.com/){SLUG}", rf"\g<1>{slug}", text)


def notebook(text, name, slug):
    """The notebook's JSON with the address in it; untouched bytes where nothing changed."""
    content = json.loads(text)
    changed = False
    for cell in content["cells"]:
        def rewrite(line):
            if cell["cell_type"] == "markdown":
                line = colab_links(line, slug)
            if cell.get("id") == "title":
                line = re.sub(r"(/blob/main/notebooks/)[^)\s]+", rf"\g<1>{name}", line)
            if cell.get("id") == "setup":
                line = own_address(line, slug)
            return line

        old = cell["source"]
        cell["source"] = rewrite(old) if isinstance(old, str) else [rewrite(line) for line in old]
        changed |= cell["source"] != old
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n" if changed else text


def readme(text, slug):
    text = re.sub(r"(?m)^( *git clone )(\S+)", lambda m: m[1] + own_address(m[2], slug), text)
    return colab_links(text, slug)


def update(files, check):
    """Write what is out of date, or with `check` say so; the number of such files."""
    stale = [(path, new) for path, new in files if path.read_text(encoding="utf-8") != new]
    for path, new in stale:
        print(path.relative_to(ROOT).as_posix(), "is out of date" if check else "rewritten")
        if not check:
            path.write_text(new, encoding="utf-8", newline="\n")
    return len(stale)


def main(arguments):
    own = slug()
    files = [(path, notebook(path.read_text(encoding="utf-8"), path.name, own))
             for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    path = ROOT / "README.md"
    files.append((path, readme(path.read_text(encoding="utf-8"), own)))
    for path in (ROOT / name for name in OTHERS):
        if path.exists():
            text = path.read_text(encoding="utf-8")
            files.append((path, own_address(text, own)))
    check = "--check" in arguments
    return 1 if update(files, check) and check else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
