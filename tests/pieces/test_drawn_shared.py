"""What all pieces share, in a piece made for it, without a browser: controls, when it is drawn
again, what a canvas gets; and for each piece that its style and its page name the same classes."""
import re

import pytest
import torch
from pieces import OLD, PIECES
from stage import (DARK, LIGHT, SIZE, Picture, check_map, check_picture, expected, mixed, numbers,
                   perform)

from attention_lessons.pieces.base import HERE

TINY = """
let draws = 0;
const weights = [[0, 0.25, 1], [0.5, 0.125, 0.75]];
export function render({ model, el }) {
  const set = setter(model);
  const many = places(9).map((i) => [10 * i, `number ${i}`]);
  const controls = {
    few: choice("few", many.slice(0, 8), set("few")),
    many: choice("many", many, set("many")),
    dial: slider("dial", { max: 5, step: 0.5, words: (n) => `${n} cm` }, set("dial")),
    on: checkbox("on", set("on"), "shown"),
  };
  const { root, body, result } = frame(el, ".own { color: red }", ...elements(controls));
  const canvas = node("canvas", { role: "img", "aria-label": "tiny" });
  body.append(scrolling("more", canvas));
  const made = memoized((a, b) => [a, b]);
  return keepDrawn(model, root, (colours, width) => {
    const state = model.get("state");
    showAll(controls, state);
    draws += 1;
    write(result, `${draws} at ${width}`);
    const context = pen(canvas, state.wide ?? 300, 120, colours);
    map(context, colours, weights, 10, 20, 60, 30);
    for (const other of [[[0.25, 0.75], [1, 0]], [[0.75, 0.5]]]) {
      map(context, colours, other, 0, 0, 5, 5);
    }
    figures(context, colours, weights, 10, 20, 60, 30, colours.weight, state.words);
    outline(context, colours.ink, 200, 20, 30, 40);
    curve(context, [[200, 70], [220, 80], [240, 70]], colours.key);
    disc(context, 260, 40, 6, colours.value);
    pointer(context, 250, 60, colours.output);
    label(context, "a long name of many words", 8, 100, { width: 80, bold: true });
    label(context, "plain", 100, 100);
    label(context, "at the end", 290, 100, { align: "right", colour: colours.key });
    label(context, "xy".repeat(31), -900, 90);
    if (made(state.dial, state.on) !== made(state.dial, state.on)) throw new Error("made again");
  });
}
export default { render };
"""


class Tiny:
    piece, data = "tiny", {}

    def __init__(self, **state):
        self.state = {"few": 70, "many": 20, "dial": 1.5, "on": True} | state


def play(folder, *steps, **settings):
    script = (HERE / "shared.js").read_text(encoding="utf-8") + TINY
    change = settings.pop("state", {})
    return perform(folder, Tiny(**change), *steps, script=script, **settings)


def test_controls_show_and_change_one_setting(tmp_path):
    start, *stages = play(
        tmp_path, "pick('few', 'number 3')", "pick('many', 'number 8')", "type('dial', 4)",
        "type('dial', 9)", "tick('on')", "set('state', { few: 0, dial: 0 })")
    assert start.chosen() == {"few": ["number 7"], "many": ["number 2"], "dial": ("1.5", "1.5 cm")}
    changes = [{"few": 30}, {"many": 80}, {"dial": 4}, {"dial": 5}, {"on": False},
               {"few": 0, "dial": 0}]
    wanted = start.state
    for i, (stage, change) in enumerate(zip(stages, changes, strict=True)):
        wanted = wanted | change
        assert stage.state == wanted
        assert stage.chosen() == {
            "few": [f"number {wanted['few'] // 10}"], "many": [f"number {wanted['many'] // 10}"],
            "dial": (f"{wanted['dial']:g}", f"{wanted['dial']:g} cm")}
        box = next(part for part in stage.all("input") if part.given["type"] == "checkbox")
        assert box.told["checked"] == wanted["on"] and box.given["aria-label"] == "on"
        # Python hears of it a moment after the paint; what it set itself it doesn't hear.
        assert (stage.waits, stage.saved) == (([30], i + 1) if i < 5 else ([], 5))
    assert start.one("select").given["data-lm-suppress-shortcuts"] == "true"
    dial = next(part.given for part in start.all("input") if part.given["type"] == "range")
    assert (dial["min"], dial["max"], dial["step"]) == ("0", "5", "0.5")
    assert start.all("label", "pill")[-1].text == "shown"
    names = {part.given["name"] for part in start.all("input") if part.given["type"] == "radio"}
    assert len(names) == 1 and len(names.pop()) > 8
    assert [pill.given["title"] for pill in start.all("label", "pill")[:2]] == [
        "number 0", "number 1"]
    assert start.one("select").parts[0].tag == "option"


def test_what_the_canvas_gets(tmp_path):
    for theme in (LIGHT, DARK):
        stage, = play(tmp_path, colours=theme)
        picture, = stage.pictures
        weights = torch.tensor([[0, 0.25, 1], [0.5, 0.125, 0.75]])
        check_map(picture.maps[0], weights, theme)
        assert picture.maps[0][:4] == (10, 20, 180, 60)
        for found, other in zip(picture.maps[1:], ([[0.25, 0.75], [1, 0]], [[0.75, 0.5]]),
                                strict=True):  # another width, then another height
            check_map(found, other, theme)
        style = {name: numbers(paint) for name, paint in stage.one(kind="d2l-piece").style.items()
                 if name != "--scheme"}
        assert style == {f"--{role}": expected(role, theme) for role in
                         ("query", "key", "value", "output")}
        scheme = stage.one(kind="d2l-piece").style["--scheme"]
        assert scheme == ("dark" if theme is DARK else "light")
        table = picture.grid(10, 20, 60, 30, 2, 3)
        assert table == [["0.00", "0.25", "1.00"], ["0.50", "0.13", "0.75"]]
        faint = expected("faint", theme)
        assert [tuple(block[:5]) for block in picture.blocks] == [
            (10, 20, 180, 1, faint), (10, 50, 180, 1, faint), (10, 80, 180, 1, faint),
            (10, 20, 1, 61, faint), (70, 20, 1, 61, faint), (130, 20, 1, 61, faint),
            (190, 20, 1, 61, faint)]
        white, black = (255, 255, 255), (0, 0, 0)
        for text, amount in zip(picture.texts[:6], weights.flatten().tolist()):
            ink = text.colour
            paint = mixed(expected("paper", theme), expected("query", theme), amount)
            assert contrast(ink, paint) >= contrast(white if ink == black else black, paint)
        assert picture.frames[0][:6] == (200, 20, 30, 40, expected("ink", theme), 2.5)
        line, = picture.lines
        assert line.points == [(200, 70), (220, 80), (240, 70)]
        assert (line.colour, line.width) == (expected("key", theme), 2)
        disc, = picture.rounds
        assert disc[:3] == (260, 40, 6) and disc.colour == expected("value", theme)
        assert abs(disc.angles[1] - disc.angles[0]) >= 6.283
        triangle, = picture.shapes
        assert triangle.points == [(250, 55.5), (258, 60), (250, 64.5)]
        assert triangle.colour == expected("output", theme)
        cut, plain, end, many = picture.texts[6:]
        assert cut.text == "a long na…"
        assert cut.bold and cut.box[2] - cut.box[0] <= 80 < cut.box[2] - cut.box[0] + SIZE
        assert (plain.text, plain.bold, plain.align) == ("plain", False, "left")
        assert plain.colour == expected("ink", theme)
        assert (end.align, end.colour) == ("right", expected("key", theme))
        assert many.text == "xy" * 29 + "x…"
        assert picture.part.told["size"] == [600, 240]


def contrast(one, other):
    """As WCAG 2 defines it."""
    light = [sum(weight * (part / 255) ** 2.2 for weight, part in
                 zip((0.2126, 0.7152, 0.0722), colour)) + 0.05 for colour in (one, other)]
    return max(light) / min(light)


def test_it_is_drawn_again_when_something_changes(tmp_path):
    steps = [
        ("resize(700)", "2 at 700", LIGHT), ("resize(700)", "2 at 700", LIGHT),
        (f"theme({DARK})", "3 at 700", DARK), ("restyle()", "4 at 700", DARK),
        ("zoom(3)", "5 at 700", DARK), ("set('state', { dial: 2 })", "6 at 700", DARK),
        # hidden, as JupyterLab does while themes change: drawn once there is room again
        ("run(() => { h.page.width = 0; h.restyle(); })", "6 at 700", DARK),
        ("resize(0)", "6 at 700", DARK), ("resize(640)", "7 at 640", DARK),
        ("run(() => h.stop())", "7 at 640", DARK), ("resize(500)", "7 at 640", DARK),
        (f"theme({LIGHT})", "7 at 640", DARK), ("zoom(1)", "7 at 640", DARK),
        ("set('state', { dial: 3 })", "7 at 640", DARK), ("restyle()", "7 at 640", DARK),
    ]
    start, *stages = play(tmp_path, *[step for step, _, _ in steps], width=900)
    assert start.result == "1 at 900"
    for stage, (step, said, theme) in zip(stages, steps, strict=True):
        assert stage.result == said, step
        picture = Picture(stage.one("canvas")) if "zoom" not in step else None
        if picture:
            check_map(picture.maps[0], torch.tensor([[0, 0.25, 1], [0.5, 0.125, 0.75]]), theme)
    assert stages[4].one("canvas").told["size"] == [900, 360]
    assert stages[4].one("canvas").style == {"width": "300px", "height": "120px"}
    assert {one["scale"] for one in stages[4].one("canvas").told["drawn"]} == {3}


def test_the_attributes_that_change_a_theme(tmp_path):
    names = ("class", "data-theme", "data-jp-theme-name", "style")
    stages = play(tmp_path, *[f"restyle('{name}')" for name in names])
    assert [stage.result[0] for stage in stages] == ["1", "2", "3", "4", "4"]


def test_nothing_is_drawn_for_what_left_the_page(tmp_path):
    stages = play(tmp_path, "run((root) => root.remove())", "set('state', { dial: 2 })")
    assert [stage.result for stage in stages] == ["1 at 1000"] * 3


def test_another_size_wipes_and_keeps_the_font(tmp_path):
    wide, back = play(tmp_path, "set('state', { wide: 350 })", "set('state', { wide: 300 })")[1:]
    assert wide.one("canvas").told["size"] == [700, 240]
    for stage in (wide, back):
        assert len(Picture(stage.one("canvas")).texts) == 10  # and each in the page's font


def test_a_sentence_keeps_the_height_that_it_took(tmp_path):
    """So what stands below stays in place; at another width it takes what it needs."""
    entry = "run(() => h.watchers.resize[0].call([{{ contentRect: {{ width: {}, height: {} }} }}]))"
    first, same, other = play(tmp_path, entry.format(500, 70), entry.format(500, 90),
                              entry.format(400, 30))[1:]
    heights = [stage.one(kind="result").style["minHeight"] for stage in (first, same, other)]
    assert heights == ["48px", "90px", "48px"]


HOST = """run(() => {
  const host = (values) => {
    const made = document.createElement("div");
    const still = document.createElement("p");
    still.className = "d2l-still";
    made.append(still);
    if (values !== undefined) {
      const script = document.createElement("script");
      script.textContent = values;
      made.append(script);
    }
    document.body.append(made);
    return made;
  };
  const values = JSON.stringify({ data: {}, state: { few: 10, many: 0, dial: 2, on: false } });
  h.hosts = [host(values), host(), host("{}"), host(values)];
  document.querySelectorAll = (selector) =>
    selector === '.d2l-explorer[data-piece="tiny"]:not([data-live])' ? h.hosts : [];
  console.error = (error) => { h.errors = (h.errors ?? 0) + 1; };
  piece.revive("tiny", piece.render);
  if (h.errors !== 1) throw new Error("one host is broken, and it says so");
  const root = [...document.body][1];
  root.append(...h.hosts);
})"""


def test_still_copies_come_to_life(tmp_path):
    stage = play(tmp_path, HOST)[1]
    hosts = [part for part in stage if part.parts and isinstance(part.parts[0], type(part))
             and part.parts[0].classes == ["d2l-still"]]
    live = [bool(host.all(kind="d2l-piece")) for host in hosts]
    assert live == [True, False, False, True]
    assert [host.parts[0].told.get("hidden", False) for host in hosts] == live
    assert [host.dataset for host in hosts] == [{"live": ""}, {}, {"live": ""}, {"live": ""}]
    assert len(hosts[2].parts) == 2  # what could not be drawn is gone
    assert hosts[0].one(kind="result").text == "2 at 1000"


# ---- every piece ---------------------------------------------------------------------------------

STEPS = {  # what shows the rest of a piece's classes
    "order": ["tick('causal')", "point('dog')"],
}
HOOKS = {"d2l-piece", "tex2jax_ignore", "mathjax_ignore", "own"}  # for what is outside of the piece
NAMED = {"number", "scroll", "name", "result", "table", "title", "drawn", "control", "pill",
         "settings", "body"}  # by the shared style; not every piece has all


def classes_in(style):
    bare = re.sub(r"/\*.*?\*/", "", style, flags=re.S)
    return set(re.findall(r"\.([a-z][\w-]*)", bare))


@pytest.mark.parametrize("piece", OLD)
def test_style_page_and_what_is_told_agree(tmp_path, piece):
    stages = perform(tmp_path, PIECES[piece](), *STEPS.get(piece, []))
    used = {name for stage in stages for part in stage for name in part.classes}
    shared, own = stages[0].one("style").text.rsplit(".d2l-piece {", 1)
    assert own.endswith("}") and own.count("{") + 1 == own.count("}")
    assert used - HOOKS <= classes_in(shared) | classes_in(own)
    absent = {"part", "stacks"} if piece == "memories" else set()  # of who sees whom
    assert classes_in(own) - used == absent, "styled, but nowhere on the page"
    assert NAMED <= classes_in(shared)
    check_told(stages[0])


def check_told(stage):
    """What assistive technology and Jupyter are told."""
    root = stage.one(kind="d2l-piece")
    assert {"tex2jax_ignore", "mathjax_ignore"} <= set(root.classes)
    assert root.one(kind="result").given["aria-live"] == "polite"
    for part in [*stage.all("input"), *stage.all("select"), *stage.all(kind="chip"),
                 *stage.all(kind="scroll")]:
        assert part.given["data-lm-suppress-shortcuts"] == "true"
    for part in stage.all(kind="scroll"):
        assert part.given["tabindex"] == "0" and part.given["role"] == "group"
        assert part.given["aria-label"]
    for part in [*stage.all("th")]:
        assert part.given["scope"] in ("row", "col", "colgroup")
    for part in stage.all("button"):
        assert part.given["type"] == "button"
    for part in stage.all(kind="number"):
        if part.given.get("aria-hidden"):
            assert part.given["aria-hidden"] == "true"
    for picture in stage.pictures:
        check_picture(picture)
