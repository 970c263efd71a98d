"""How fast the interactive pieces answer a key, in a real browser.

The steps are those of the tests (`tests/explorers/pieces.py`), each taken `TRIPS` times. "total" is
the time from the key event's own time stamp to the end of the frame that shows the change; 0 to
16.7 ms of it, 8 on average, are spent waiting for the next frame of a 60 Hz screen. "script" and
"paint" are the piece's own work: from the key's first listener to the changed page, and the frame's
style, layout and painting; "work" is their sum. The goal for the median total is 16 ms, or 100 ms
where the kernel computes, and 16 ms for the 95th percentile of the work. A busy machine is slow:
look twice before believing a miss.
"""
import functools
import pathlib
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = pathlib.Path(__file__).with_suffix(".js")
TRIPS = 10
PLAIN_GOAL, KERNEL_GOAL = 16, 100  # ms
LARGE = "heads, 64 tokens"
sys.path[:0] = [str(ROOT / folder) for folder in ("tools", "tests/explorers", "tests/browser")]


def pieces():
    from pieces import PIECES
    return PIECES


def large_heads():
    """64 tokens and 16 heads."""
    from pieces import d2l_ext, explorers, torch
    X, names = torch.randn(64, 64), [f"name {i}" for i in range(64)]
    return explorers.heads_explorer(d2l_ext.MultiHeadAttention(64, 16), X, names, names)


def large_attention():
    """12 layers of 12 heads over 64 tokens."""
    from pieces import attention
    return attention([f"word{i}" for i in range(64)], layers=12, heads=12)


def press(piece, step, moment=0.0):
    """Take a step by keyboard: the milliseconds of its last key. ``moment``: seconds to wait before
    that key. Raises RuntimeError if the key changes nothing."""
    from screen import result
    keyboard = piece.page.keyboard
    for key in step.keys[:-1]:
        keyboard.press(key)
    result(piece)  # the page has painted what these keys did
    part = piece if step.says is None else piece.locator(".result")
    part.evaluate("part => latency.arm(part)")
    time.sleep(moment)
    keyboard.press(step.keys[-1])
    times = piece.page.evaluate("latency.last()")
    if times is None:
        raise RuntimeError(f"{step.control}: the key {step.keys[-1]!r} changed nothing")
    return times


def measure(pages, steps, goal):
    """Table rows, one for each control. ``pages``: makes the piece, fresh, and a function that puts
    the focus before it."""
    from screen import tab_to
    records = {}
    for trip in range(TRIPS):
        piece, enter = pages()
        piece.page.evaluate(SCRIPT.read_text(encoding="utf-8"))
        enter()
        for step in steps:
            tab_to(piece, step.control, enter)
            moment = 0.02 + trip * 0.618 % 1 / 60  # spread evenly over a frame
            records.setdefault(step.control, []).append(press(piece, step, moment))
    rows = []
    for control, times in records.items():
        totals, works = zip(*[(one["total"], one["script"] + one["paint"]) for one in times])
        cells = [statistics.median(totals), most(totals),
                 *(statistics.median(one[part] for one in times) for part in ("script", "paint")),
                 most(works)]
        over = f" (over {goal})" if cells[0] > goal else ""
        rows.append([control + over, *(f"{cell:.0f}" for cell in cells)])
    return rows


def most(times):
    """The 95th percentile."""
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def plain_page(page, make):
    """The piece as an exported page shows it, without a kernel."""
    from screen import show
    piece = show(page, make())
    return piece, lambda: page.evaluate("document.activeElement.blur()")


def lab_page(sheet):
    """The piece in JupyterLab, with its kernel."""
    sheet.run()
    piece = sheet.page.locator(".d2l-piece")
    piece.locator(".result:not(:empty)").wait_for()
    return piece, lambda: sheet.enter(piece)


def write_notebook(path, name):
    """A notebook that shows the piece, or the large heads."""
    import nbformat
    made = "latency.large_heads()" if name == LARGE else f"latency.pieces()[{name!r}]()"
    sources = [f"import sys\nsys.path.insert(0, {str(ROOT)!r})",
               f"from tools.bench import latency\n{made}"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in sources])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, path)


def on_pages(new_page):
    """Table rows of each piece on an exported page."""
    from pieces import PIECES, STILL
    from screen import Step
    candidates = [(name, make, STILL[name]) for name, make in PIECES.items()]
    candidates.append((LARGE, large_heads, STILL["heads"][:1]))
    keys = [Step(name, ["ArrowDown"], {}, "") for name in ("layer", "head")]
    keys.append(Step("asking token", ["ArrowUp"], {}, ""))
    candidates.append(("attention, 144 heads, 64 tokens", large_attention, keys))
    for name, make, steps in candidates:
        pages = functools.partial(plain_page, new_page(), make)
        yield from ([name, "page", *row] for row in measure(pages, steps, PLAIN_GOAL))


def in_lab(new_page):
    """Table rows of each piece in JupyterLab."""
    from frontends import Sheet, serve
    from pieces import STEPS
    with tempfile.TemporaryDirectory() as folder, serve(pathlib.Path(folder)) as address:
        for name, steps in [*STEPS.items(), (LARGE, STEPS["heads"][:1])]:
            write_notebook(pathlib.Path(folder, f"{name}.ipynb"), name)
            pages = functools.partial(lab_page, Sheet(new_page(), address, f"{name}.ipynb"))
            goal = KERNEL_GOAL if name == "dates" else PLAIN_GOAL
            yield from ([name, "JupyterLab", *row] for row in measure(pages, steps, goal))


def answers():
    """Lines of Markdown. Exits if the browser, or Playwright that drives it, is missing."""
    from browser import PROGRAM, ROOT_NEEDS
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("Playwright is missing: python tools/setup.py browser html")
    if not PROGRAM:
        sys.exit("There is no browser: install Chromium or Google Chrome.")
    from screen import watch

    from .attention import table
    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=ROOT_NEEDS)

        def new_page():
            return watch(browser.new_page(viewport={"width": 1280, "height": 900}))

        for row in (row for part in (on_pages, in_lab) for row in part(new_page)):
            print(*row, flush=True)
            rows.append(row)
        browser.close()
    times = ["total, ms", "95 %", "script", "paint", "work, 95 %"]
    return table(["piece", "where", "control", *times], rows)
