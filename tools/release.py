"""Write what others download into dist/release: `make release`.

The wheel, and a zip in each language of pages, standalone notebooks and slides. SHA256SUMS has the
checksums, sizes are printed.
"""
import hashlib
import pathlib
import shutil

from attention_lessons.languages import languages
from tools import ROOT
from tools.environments import make_wheel
from tools.publish.__main__ import main as write

TARGET = ROOT / "dist/release"


def packed(kind: str, language: str) -> pathlib.Path:
    """The zip of what `make KIND` wrote in a language; a page and a notebook lead to no other."""
    source, staged = ROOT / "dist" / kind, TARGET / f"attention-lessons-{kind}-{language}"
    inner = source if language == "en" else source / language
    shutil.copytree(inner, staged, ignore=lambda _, names: languages() if language == "en" else [])
    if kind == "html":
        first = sorted(staged.glob("*.html"))[0]
        shutil.copy(first, staged / "index.html")
    made = shutil.make_archive(str(staged), "zip", TARGET, staged.name)
    shutil.rmtree(staged)
    return pathlib.Path(made)


def main() -> None:
    shutil.rmtree(TARGET, ignore_errors=True)
    TARGET.mkdir(parents=True)
    for kind in ("html", "standalone", "slides"):
        shutil.rmtree(ROOT / "dist" / kind, ignore_errors=True)
        write(kind)
        for language in languages():
            packed(kind, language)
    make_wheel(TARGET)
    files = sorted(TARGET.iterdir())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (TARGET / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")
    for path in files:
        print(f"{path.stat().st_size / 1e6:6.1f} MB  {path.name}")


if __name__ == "__main__":
    main()
