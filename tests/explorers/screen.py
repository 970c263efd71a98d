"""What a person at the screen meets: `show` a piece, `play` its controls by keyboard, `axe` for what others can't use, `watch` for a page's errors."""
import time
from typing import NamedTuple

# The name of the control that has the focus; None outside of the piece. Radio buttons go by their group.
FOCUSED = """(piece) => {
  const el = document.activeElement;
  if (!piece.contains(el)) return null;
  return (%s)(el);
}"""
NAME = """(el) => (el.type === "radio" ? el.closest("fieldset").querySelector("legend")
  : el.matches(".chip") ? el : el.ariaLabel ? { textContent: el.ariaLabel } : el.labels?.[0]?.querySelector(".name") ?? el.labels?.[0] ?? el).textContent.trim()"""
CONTROLS = f"""(piece) => [...new Set([...piece.querySelectorAll("input, select, button")].filter((el) => !el.disabled).map({NAME}))]"""
RING = """() => { const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(document.activeElement);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 && !/, 0\\)$|transparent/.test(outlineColor); }"""
PICTURE = """(piece) => [...piece.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL())
  .concat([...piece.querySelectorAll("table, .answer, .chips, .looks")].map((part) => part.innerHTML))"""


class Step(NamedTuple):
    """With the focus on ``control`` press ``keys``: the state is then ``state``, the sentence holds ``says``; None: the sentence stays as it was."""
    control: str
    keys: list[str]
    state: dict
    says: str | None


def watch(page):
    """The page, with ``errors``: what its scripts raise or its console calls an error; and ``requests``: what it asks for outside of this machine."""
    page.errors, page.requests = [], []
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda said: page.errors.append(f"{said.text} {said.location.get('url', '')}") if said.type == "error" else None)
    page.on("dialog", lambda dialog: (page.errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))

    def refuse(route):
        page.requests.append(route.request.url)
        route.abort()

    page.route(lambda url: url.startswith("http") and "//127.0.0.1:" not in url, refuse)
    return page


def show(page, explorer, head: str = ""):
    """The piece, alone in a page, alive."""
    page.errors.clear()
    page.set_content(f'<!doctype html><html lang="en"><title>piece</title>{head}<main>{explorer.html()}</main>')
    piece = page.locator(".d2l-piece")
    piece.locator(".result:not(:empty)").wait_for()
    return piece


def result(piece) -> str:
    """The live sentence, once the page has painted what was last done."""
    piece.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    return piece.locator(".result").inner_text()


def until(true, seconds: float = 20):
    """Wait until something is true; returns it. Raises AssertionError after so many seconds."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, f"still not so after {seconds:g} s"
        time.sleep(0.03)
    return value


def tab_to(piece, control: str, enter) -> None:
    """Press Tab until the control has the focus; ``enter()`` puts the focus somewhere before the piece."""
    page, inside = piece.page, False
    for _ in range(60):
        name = piece.evaluate(FOCUSED % NAME)
        if name == control:
            assert page.evaluate(RING), f"{control}: the focus can't be seen"
            return
        if inside and name is None:
            enter()
        inside = name is not None
        page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {control!r}")


def play(piece, steps, enter, state=None, seconds: float = 10) -> None:
    """Take all steps by keyboard; every control must be among them. ``state()`` is what Python sees, where there is Python."""
    page = piece.page
    assert not (idle := set(piece.evaluate(CONTROLS)) - {step.control for step in steps}), f"no step moves {idle}"
    enter()
    for control, keys, wanted, says in steps:
        tab_to(piece, control, enter)
        words, picture = result(piece), piece.evaluate(PICTURE)
        for key in keys:
            page.keyboard.press(key)
        where = f"{control}, {' '.join(keys)}"
        try:
            if state is not None:
                until(lambda: wanted.items() <= state().items(), seconds)
            until(lambda: piece.evaluate(PICTURE) != picture, seconds)
            until(lambda: result(piece) == words if says is None else says in result(piece), seconds)
        except AssertionError as error:
            raise AssertionError(f"{where}: wanted {wanted} and {says!r}, got {state and state()} and {result(piece)!r}, "
                                 f"picture {'as before' if piece.evaluate(PICTURE) == picture else 'changed'}") from error
        assert says is None or result(piece) != words, f"{where}: the sentence was the same before"
        assert piece.evaluate(FOCUSED % NAME) == control, f"{where}: the focus has moved"


def axe(page, *selectors: str, without: str = "") -> list[str]:
    """What axe-core finds wrong within the selectors, in a line each."""
    from axe_playwright_python.base import AXE_FILE_PATH
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE_FILE_PATH.read_text(encoding="utf-8"))
    scope = {"include": [[selector] for selector in selectors], "exclude": [[without]] if without else []}
    found = page.evaluate("async (scope) => (await axe.run(scope, { resultTypes: ['violations'] })).violations", scope)
    return [f"{rule['id']}: {rule['help']}: {node['html'][:150]}" for rule in found for node in rule["nodes"]]

