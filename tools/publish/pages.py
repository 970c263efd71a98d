"""Export notebooks as pages that need nothing else: `make html`, into dist/html.

A page holds its pictures, its formulas as MathML and its explorers, and asks the network for
nothing.
"""
import base64
import io
import pathlib
import re
import unicodedata

import nbformat
import ziamath
from bs4 import BeautifulSoup
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from jinja2 import DictLoader, pass_context
from latex2mathml.converter import convert
from markupsafe import Markup
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from attention_lessons.languages import languages
from attention_lessons.translation import pages

FONT = pathlib.Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2,
         "msubsup": 3, "munderover": 3}
POLICY = ("default-src 'none'; img-src data:; font-src data:; "
          "style-src 'unsafe-inline'; script-src 'unsafe-inline'")
PAPER = {path.suffix: path.read_text(encoding="utf-8")
         for path in pathlib.Path(__file__).parent.glob("paper.*")}
# What is folded in the notebook stays so.
FOLDED = """
{% block input_group %}
{% if cell.metadata.get("jupyter", {}).get("source_hidden") %}
{% set tags = cell.metadata.get("tags", []) %}
{% set aside = _("Set-up") if "setup" in tags else _("This picture's code") if "picture" in tags %}
{% set title = cell.source.partition("\n")[0].partition("# @title ")[2] %}
<details class="folded{{ " code" if aside }}">
<summary>{{ aside or _(title or "Code") }}</summary>{{ super() }}</details>
{% else %}{{ super() }}{% endif %}
{% endblock %}
{% block output_group %}
{% if cell.metadata.get("jupyter", {}).get("outputs_hidden") %}
<details class="folded answer">
<summary>{{ _("Have you predicted it? Open the answer") }}</summary>
{{ super() }}</details>
{% else %}{{ super() }}{% endif %}
{% endblock %}"""
# Chinese letters have no italics: a dot stands under each that is stressed.
CHINESE = """.whole { white-space: nowrap; }
em:lang(zh) {
  font-style: normal; text-emphasis: filled dot; text-emphasis-position: under right; }"""
# Browsers begin a line with a full-width sign after a formula, though not after a word.
BEFORE_A_SIGN = r"(<math(?![^>]*block)(?:(?!</math>).)*</math>)([，。：；、？！）”]+)"
# nbconvert's page without the scripts it would fetch.
PAGE = """{% extends 'lab/index.html.j2' %}
{% block html_head_js %}{% endblock %}
{% block html_head_js_mathjax %}{% endblock %}
{% block html_head_js_mermaidjs %}{% endblock %}
{% block html_head_css %}
<meta http-equiv="Content-Security-Policy" content="POLICY">
<style>
main { max-width: 1160px; margin: auto; }
@font-face { font-family: "formulas"; src: url("formulas.woff"); }
math { font-family: "formulas", math; font-size: 1.1em; }
math[display="block"] { margin: .8em 0; }
.folded > summary { margin: .3em 0 .3em 5.6em; cursor: pointer; }
CHINESE
/* What is wider than its place scrolls there, with a shade at the edge beyond which it goes on. */
.wide { display: block; overflow-x: auto; }
.jp-OutputArea-child { display: flex; }
.jp-OutputArea-child > .jp-OutputPrompt { flex: none; }
.jp-OutputArea-child > .jp-OutputArea-output {
  display: block; flex: 1; min-width: 0; width: auto; }
@media (max-width: 760px) {
  .jp-OutputArea-child, .jp-OutputArea-child > .jp-OutputPrompt { display: block; }
  .jp-OutputArea-child > .jp-OutputArea-output { margin-left: 0; padding-right: 0; }
}
.jp-RenderedHTMLCommon tbody tr:nth-child(even) { background: none; }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #8881; }
.wide, .jp-RenderedHTML.jp-OutputArea-output {
  --paper: var(--jp-layout-color0, white); --shade: #0008; background:
    linear-gradient(to right, var(--paper) 60%, transparent) 0 / 30px 100% no-repeat local,
    linear-gradient(to left, var(--paper) 60%, transparent) 100% / 30px 100% no-repeat local,
    linear-gradient(to right, var(--shade), transparent) 0 / 15px 100% no-repeat,
    linear-gradient(to left, var(--shade), transparent) 100% / 15px 100% no-repeat;
}
@media print {
  .jp-InputPrompt, .jp-OutputPrompt { display: none !important; }
  .folded > summary { margin-left: 0; }
}
PAPER</style>
{% endblock %}
{% block footer %}<script>SCRIPT</script>{{ super() }}{% endblock %}
""" + FOLDED
FILLED = {"POLICY": POLICY, "CHINESE": CHINESE, "PAPER": PAPER[".css"], "SCRIPT": PAPER[".js"]}
for part, text in FILLED.items():
    PAGE = PAGE.replace(part, text)


def speaker(language: str):
    """What templates call _: _("{0} minutes", 5) in a language. English stands for itself."""
    words = pages(language)
    return lambda text, *parts: Markup(words.get(text, text)).format(*parts)


class Renderer(IPythonRenderer):
    """Markdown to HTML: formulas become MathML, links among notebooks lead to their pages."""

    name_of_table = "Table"

    def inline_math(self, body):
        return mathml(body)

    def block_math(self, body):
        return f'<span class="wide">{mathml(body, "block")}</span>'

    def latex_environment(self, name, body):
        return self.block_math(rf"\begin{{{name}}}{body}\end{{{name}}}")

    def table(self, text):
        """In a box of its own, which scrolls where the page is narrow, by keyboard too."""
        box = 'class="wide" tabindex="0" role="group"'
        return f'<div {box} aria-label="{self.name_of_table}"><table>{text}</table></div>\n'

    def image(self, text, url, title=None):
        """A picture, or for one from the network its words."""
        return self.escape_html(text) if url.startswith("http") else super().image(text, url, title)

    def link(self, text, url, title=None):
        return super().link(text, re.sub(r"^(\w+)\.ipynb\b", r"\1.html", url), title)


class Exporter(HTMLExporter):
    """nbconvert's pages, with words in the language of the notebook's metadata."""

    def from_notebook_node(self, notebook, resources=None, **more):
        self.language_code = notebook.metadata.get("language", "en")
        self.environment.globals["_"] = speaker(self.language_code)
        return super().from_notebook_node(notebook, resources, **more)

    @pass_context
    def markdown2html(self, context, source):
        return html(source, self.language_code)


def html(text: str, language: str = "en") -> str:
    """Markdown as HTML."""
    _, renderer = speaker(language), Renderer(escape=False)
    renderer.name_of_table = _("Table")
    made = MarkdownWithMath(renderer=renderer).render(text)
    return re.sub(BEFORE_A_SIGN, r'<span class="whole">\1\2</span>', made, flags=re.S)


def mathml(latex: str, display: str = "inline") -> str:
    """A formula as MathML; ValueError for an unknown command, an open brace or a missing part."""
    try:
        made = BeautifulSoup(convert(latex.strip(), display=display), "html.parser")
    except Exception as error:  # the converter raises errors of many classes
        raise ValueError(f"${latex}$ can't be set: {type(error).__name__}") from error
    braces = re.sub(r"\\[\\{}]", "", latex)
    complete = all(len(found.find_all(recursive=False)) == parts
                   for tag, parts in PARTS.items() for found in made.find_all(tag))
    if braces.count("{") != braces.count("}") or not complete or "\\" in made.text:
        raise ValueError(f"${latex}$ can't be set: a command is unknown or a part is missing")
    bars = [tag for tag in made.find_all("mo", string=re.compile("^[|‖]$"))
            if tag.get("stretchy") != "true"]
    for i, bar in enumerate(bars):  # they come in pairs
        bar["form"], bar["stretchy"] = ("prefix", "postfix")[i % 2], "false"
    for tag in made.find_all(mathvariant=re.compile("^(?!normal)")):  # browsers heed no other
        style = tag["mathvariant"].upper().replace("-ITALIC", " ITALIC")
        tag.string = "".join(styled(letter, style) for letter in tag.text)
        del tag["mathvariant"]
    return str(made)


def styled(letter: str, style: str) -> str:
    """A letter in a mathematical style, as Unicode has it: BOLD turns x into 𝐱."""
    name = re.sub("LATIN |GREEK |LETTER ", "", unicodedata.name(letter, ""))
    for prefix in ("MATHEMATICAL ", ""):
        try:
            return unicodedata.lookup(f"{prefix}{style} {name}")
        except KeyError:
            continue
    return "ℎ" if (letter, style) == ("h", "ITALIC") else letter


def letters_of(page: str) -> set[str]:
    """What the formulas of a page are written with."""
    return set("".join(re.findall("<math.*?</math>", page, re.S)))


def font(letters: set[str]) -> str:
    """STIX Two Math with what these letters need, as an address.

    Only with such a font do brackets grow and letters lean.
    """
    subsetter = Subsetter(Options(layout_features=["ssty"], notdef_outline=True, hinting=False))
    leaning = {styled(letter, "ITALIC") for letter in letters}
    subsetter.populate(text="".join(letters | {"√"} | leaning))
    small, file = TTFont(FONT), io.BytesIO()
    subsetter.subset(small)
    small.flavor = "woff"
    small.save(file)
    return f"data:font/woff;base64,{base64.b64encode(file.getvalue()).decode()}"


def title_of(notebook: nbformat.NotebookNode) -> str:
    return notebook.cells[0].source.splitlines()[0].lstrip("# ")


def page(notebook: nbformat.NotebookNode) -> str:
    """The notebook as one page of HTML. Raises ValueError for a formula that can't be set."""
    notebook.metadata["title"] = title_of(notebook)
    exporter = Exporter(template_file="page", extra_loaders=[DictLoader({"page": PAGE})])
    made = exporter.from_notebook_node(notebook)[0]
    return made.replace("formulas.woff", font(letters_of(made)))


def place(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """Where a notebook's page goes: that of notebooks/zh/02_... is zh/02_....html."""
    language = path.parent.name if path.parent.name in languages() else ""
    made = target / language / f"{path.stem}.html"
    made.parent.mkdir(parents=True, exist_ok=True)
    return made


def write(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    made = place(path, target)
    made.write_text(page(nbformat.read(path, as_version=4)), encoding="utf-8")
    return made
