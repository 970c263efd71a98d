"""What a person meets: `show` a piece, `walk` over its controls by keyboard, `axe` for what others
can't use, `watch` for a page's errors."""
import time

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

HEAD = """<meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width"><style>body { margin: 0 }</style>"""

# What Tab reaches, one radio button a group.
CONTROLS = """(piece) => piece.querySelectorAll(
  "button, input:not([type=radio]), input:checked, svg [tabindex='0']").length"""
FOCUSED = "(piece) => piece.contains(document.activeElement)"
RING = """() => {
  const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(document.activeElement);
  const invisible = /, 0\\)$|transparent/.test(outlineColor);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !invisible;
}"""
PICTURE = """(piece) => [
  ...Array.from(piece.querySelectorAll("canvas"), (canvas) => canvas.toDataURL()),
  piece.querySelector(".picture").innerHTML,
]"""
# What reaches beyond the page's edges, or is cut off within it.
BEYOND = """() => [...document.querySelectorAll("body *")].filter((part) => {
  const { width, left, right } = part.getBoundingClientRect();
  const cut = getComputedStyle(part).overflowX !== "visible"
    && part.scrollWidth > part.clientWidth + 1;
  return width && (right > innerWidth + 0.5 || left < -0.5 || cut);
}).map((part) => part.outerHTML.slice(0, 90))"""
# Words of a picture that hide each other; what is drawn beyond its edges.
FAULTS = """() => [...document.querySelectorAll(".d2l-piece svg")].flatMap((svg) => {
  const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim())
    .map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, { width }]) => width);
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
    && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 6;  // lines of text may touch
  const hidden = texts.filter(([, one], i) => texts.slice(i + 1).some(([, two]) => meet(one, two)));
  const edge = svg.getBoundingClientRect();
  const drawn = ":is(rect, circle, line, path, polygon, polyline):not(.halo)";
  const beyond = [...svg.querySelectorAll(drawn)]
    .filter((part) => {
      const { left, right, top, bottom } = part.getBoundingClientRect();
      return Math.min(left - edge.left, edge.right - right, top - edge.top,
        edge.bottom - bottom) < -3;
    });
  return [...beyond.map((part) => `${part.outerHTML.slice(0, 90)} is out of the picture`),
    ...hidden.map(([word]) => `${word} meets another`)];
})"""
LUMINANCE = """(piece) => getComputedStyle(piece).backgroundColor.match(/\\d+/g).slice(0, 3)
  .reduce((sum, part) => sum + Number(part), 0) / 765"""


def watch(page):
    """The page, with ``errors``: what its scripts raise or its console calls an error; and
    ``requests``: what it asks for outside of this machine."""
    page.errors, page.requests = [], []

    def console(said):
        if said.type == "error":
            page.errors.append(f"{said.text} {said.location.get('url', '')}")

    def dialog(opened):
        page.errors.append(f"dialog: {opened.message}")
        opened.dismiss()

    def refuse(route):
        page.requests.append(route.request.url)
        route.abort()

    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", console)
    page.on("dialog", dialog)
    page.route(lambda url: url.startswith("http") and "//127.0.0.1:" not in url, refuse)
    return page


def show(page, explorer):
    """The piece, alone in a page, alive."""
    page.errors.clear()
    page.set_content(f'<!doctype html><html lang="en"><title>piece</title>{HEAD}'
                     f"<main>{explorer.html()}</main>")
    piece = page.locator(".d2l-piece")
    piece.locator(".result:not(:empty)").wait_for()
    return piece


def said(piece):
    """To expect something of the live sentence: ``said(piece).to_contain_text(words)`` waits."""
    return expect(piece.locator(".result"))


def becomes(read, wanted=True, seconds: float = 20):
    """Wait until what is read is as wanted; AssertionError with what it was in the end."""
    end = time.monotonic() + seconds
    while (now := read()) != wanted and time.monotonic() < end:
        time.sleep(0.03)
    assert now == wanted


# Keys in pairs, of which the second undoes the first where that is in its power.
KEYS = {"button, [type=checkbox], [role=checkbox]": [(" ", " ")],
        "[type=text]": [("Backspace", "9")],
        "*": [("ArrowRight", "ArrowLeft"), ("ArrowLeft", "ArrowRight"), ("Home", "End")]}
IDLE = "all heads on"  # which they are


def walk(piece, enter=None) -> None:
    """Tab to every control of a piece and press its keys: the picture changes, the focus can be
    seen and stays. ``enter()`` puts the focus before the piece, which stands alone without it."""
    page, count = piece.page, piece.evaluate(CONTROLS)
    (enter or (lambda: page.evaluate("document.activeElement.blur()")))()
    for _ in range(9):  # a cell's own controls come first
        if not piece.evaluate(FOCUSED):
            page.keyboard.press("Tab")
    for number in range(count):
        if number:
            page.keyboard.press("Tab")
        assert piece.evaluate(FOCUSED), f"Tab reaches {number} of {count} controls"
        control = page.evaluate_handle("document.activeElement")
        name = control.evaluate("(el) => el.ariaLabel || el.closest('label').textContent")
        pairs = next(pairs for kind, pairs in KEYS.items()
                     if control.evaluate("(el, kind) => el.matches(kind)", kind))
        assert page.evaluate(RING), f"{name}: the focus can't be seen"
        assert any(moves(piece, keys) for keys in pairs) or name == IDLE, f"{name} changes nothing"
        assert control.evaluate("(el) => el === document.activeElement"), f"{name} lost the focus"
    assert piece.evaluate(CONTROLS) == count


def moves(piece, keys) -> bool:
    """Whether the first key changes the picture; if so, the second is pressed, too."""
    before = piece.evaluate(PICTURE)
    piece.page.keyboard.press(keys[0])
    end = time.monotonic() + 0.8  # a play button waits so long
    while piece.evaluate(PICTURE) == before:
        if time.monotonic() > end:
            return False
    piece.page.keyboard.press(keys[1])
    return True


def axe(page, selector: str) -> list[str]:
    """What axe-core finds wrong there, in a line each."""
    found = Axe().run(page, selector).response["violations"]
    return [f"{rule['id']}: {rule['help']}: {node['html'][:150]}"
            for rule in found for node in rule["nodes"]]
