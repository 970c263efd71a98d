"""Lessons as pages, for the website and, each in one file that needs nothing else, for `make html`.

nbconvert gives the cells; formulas are MathML. Nothing asks the network.
"""
import base64
import functools
import io
import itertools
import pathlib
import re
import subprocess
import sys
import unicodedata

import nbformat
import ziamath
from bs4 import BeautifulSoup
from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont
from jinja2 import Environment, FileSystemLoader, pass_context
from latex2mathml.converter import convert
from markupsafe import Markup
from nbconvert import HTMLExporter
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from attention_lessons.exercises import all_exercises
from attention_lessons.exercises.kinds import Choice
from attention_lessons.languages import catalogue, language
from attention_lessons.palette import PALETTE
from tools.draw.draw import UPRIGHT
from tools.notebooks.nbtext import inner

HERE = pathlib.Path(__file__).parent
FONT = pathlib.Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2,
         "msubsup": 3, "munderover": 3}
# Browsers begin a line with a sign after a formula, though not after a word.
BEFORE_A_SIGN = r"(<math(?![^>]*block)(?:(?!</math>).)*</math>)([，。：；、？！）”.,:;?!)]+)"
TEMPLATES = FileSystemLoader(HERE)
COLOURS = ":root {%s}\n" % "".join(f"--{name}: light-dark({of['light']}, {of['dark']});"
                                  for name, of in PALETTE.items())


def speaker(language: str):
    """What templates call _: _("{0} minutes", 5) in a language. English stands for itself."""
    words = catalogue(language)
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
        url = re.sub(r"^((?:\.\./|deeper/)?\w+)\.ipynb\b", r"\1.html", url)
        return super().link(text, url, title)


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
    small, file = TTFont(FONT, recalcTimestamp=False), io.BytesIO()
    subsetter.subset(small)
    small.flavor = "woff"
    small.save(file)
    return f"data:font/woff;base64,{base64.b64encode(file.getvalue()).decode()}"


# ---- pages --------------------------------------------------------------------------------------

def title_of(notebook: nbformat.NotebookNode) -> str:
    return notebook.cells[0].source.splitlines()[0].lstrip("# ")


def frame(language: str, **given) -> Environment:
    """The templates beside this file, in a language."""
    made = Environment(loader=TEMPLATES, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    made.filters["markdown"] = lambda text: Markup(html(str(text), language))
    made.globals.update(given, _=speaker(language), language=language)
    return made


def text_of(*names: str | pathlib.Path) -> str:
    """What files say, those beside this one by name."""
    return "\n".join((HERE / name).read_text(encoding="utf-8") for name in names)


def style(letters: set[str]) -> str:
    code = [f"@media {where} {{\n{code_style(name)}}}" for where, name in (
        ("print, (prefers-color-scheme: light)", "a11y-light"),
        ("screen and (prefers-color-scheme: dark)", "a11y-dark"))]
    own = COLOURS + text_of("site.css").replace("formulas.woff", font(letters))
    return "\n".join([own, *code, text_of("chinese.css", "paper.css")])


@functools.cache
def code_style(name: str) -> str:
    """Colours of code that can be read. In a process of its own: these styles change logging."""
    command = [sys.executable, "-m", "pygments", "-S", name, "-f", "html", "-a", ".highlight"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return re.sub(r" /\*.*?\*/", "", made)


def body(notebook: nbformat.NotebookNode) -> BeautifulSoup:
    """The cells of a lesson as HTML, without the line that leads to Colab."""
    _ = speaker(notebook.metadata.get("language", "en"))
    for cell in notebook.cells:
        cell.source = re.sub(r"\[Open in Colab\]\(.*?\)", "", cell.source) + reasons(cell.id, _)
    exporter = Exporter(template_file="cells.html.j2", extra_loaders=[TEMPLATES])
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    page = BeautifulSoup(exporter.from_notebook_node(notebook)[0], "html.parser")
    for empty in page.select("th:empty"):
        empty.name = "td"
    for cell in notebook.cells:
        if upright := UPRIGHT.get(cell.source[9:-2]):  # picture("...")
            for image in page.find(id=f"cell-id={cell.id}")("img"):
                stand(image, upright, exporter.language_code)
    for image in page.select("img[src*='image/png']"):
        scrollable(image)
    for anchor in page.select(".anchor-link"):
        anchor["data-pagefind-ignore"], anchor["aria-label"] = "", _("A link to this heading")
    for heading in page("h2"):
        chips(heading)
    for code in reversed(page.select(".celltag_predict")):
        ask(code, _("Predict"))
    for again in page.select(".d2l-draw script")[1:]:  # one serves all of a page
        again.decompose()
    return page


def reasons(cell: str, _) -> str:
    """What `check` says of each letter of a choice, for site.js; nothing for other cells."""
    exercise = all_exercises().get(cell.removeprefix("exercise-"))
    if not cell.startswith("exercise-") or not isinstance(exercise, Choice) \
            or len(exercise.right) > 1:
        return ""
    said = {**exercise.reasons, exercise.right: exercise.praise}
    lines = "\n".join(f"- **{letter}** {_(words)}" for letter, words in sorted(said.items()))
    head = _("Reasons")
    return f"\n\n<details><summary>{head}</summary>\n\n{lines}\n\n</details>"


def data_of(image) -> bytes:
    """What an image's address holds, in base64."""
    return base64.b64decode(image["src"].partition("base64,")[2])


def stand(image, upright, code: str) -> None:
    """On a phone a drawing stands upright."""
    language(code)
    made, size = upright(), r'width="(\d+)" height="(\d+)"'
    language("en")
    data = base64.b64encode(made.encode()).decode()
    source = f"""<picture><source media="screen and (max-width: 600px)" {re.search(size, made)[0]}
      srcset="data:image/svg+xml;base64,{data}"></picture>"""
    image.wrap(BeautifulSoup(source, "html.parser").picture)
    del image["style"]
    image["width"], image["height"] = re.search(size, data_of(image).decode()).groups()


def scrollable(image) -> None:
    """On a phone a wide picture scrolls in its place: letters stay as large as they can be read."""
    width = int.from_bytes(data_of(image)[16:20], "big")
    if width > 700:
        image["class"], image["style"] = "large", f"--least: {0.65 * width:.0f}px"
        image.wrap(element("span", "wide"))


def element(name: str, kind: str, text: str = ""):
    made = BeautifulSoup("", "html.parser").new_tag(name, attrs={"class": kind})
    made.string = text
    return made


def chips(heading) -> None:
    """Minutes and level behind a heading stand in small frames: "Build: heads · 5 minutes"."""
    for text in heading.find_all(string=re.compile(" · "), recursive=False):
        first, *rest = text.split(" · ")
        text.replace_with(first, *(element("span", "chip", part) for part in rest))


def ask(code, word: str) -> None:
    """One card of a prediction: its question, from the text above the cell, code and answer, which
    has with it what the text below says of it, up to a heading."""
    card = code.wrap(element("section", "prediction"))
    above = card.find_previous_sibling(class_="text_cell")
    asked = [each for each in above("strong") if each.text.startswith(word)] if above else []
    if asked and (question := asked[-1].find_parent("p")):
        for part in reversed([question, *question.find_next_siblings()]):
            card.insert(0, part.extract())
    below = card.find_next_sibling(class_="cell")
    if below and "text_cell" in below["class"] and not below(["h1", "h2", "h3"]):
        card.select_one(".answer").append(below.extract())


def headings(page: BeautifulSoup) -> list[dict]:
    """What the contents list: all headings of the first two levels but the title, exercises,
    questions and homework."""
    made, left_out = [], {"celltag_exercise", "celltag_question", "celltag_homework"}
    for found in page(["h1", "h2"])[1:]:
        if left_out.isdisjoint(found.find_parent(class_="cell")["class"]):
            own = itertools.takewhile(lambda part: not getattr(part, "attrs", {}).get("class"),
                                      found.contents)
            made.append({"id": found["id"], "text": Markup("".join(map(str, own)))})
    return made


def page(notebook: nbformat.NotebookNode) -> str:
    """The notebook as one page of HTML. Raises ValueError for a formula that can't be set."""
    cells = body(notebook)
    template = frame(notebook.metadata.get("language", "en")).get_template("lesson.html.j2")
    return template.render(
        alone=True, lesson={"title": title_of(notebook)}, body=Markup(cells),
        headings=headings(cells), style=Markup(style(letters_of(str(cells)))),
        script=Markup(text_of("site.js")))


def place(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """Where a notebook's page goes: that of notebooks/zh/02_... is zh/02_....html."""
    made = target / inner(path).with_suffix(".html")
    made.parent.mkdir(parents=True, exist_ok=True)
    return made


def write(path: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    made = place(path, target)
    made.write_text(page(nbformat.read(path, as_version=4)), encoding="utf-8")
    return made
