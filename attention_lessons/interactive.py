"""A reader's own function under sliders."""
from __future__ import annotations

import html
import inspect
from collections.abc import Callable

from .languages import t

LABELS = {"scale": t("scale"), "base": t("base"), "layers": t("layers")}


def sliders(draw: Callable, **ranges) -> None:
    """Show what ``draw`` returns, prints or plots, and show it anew whenever a slider moves.

    ranges: for each argument of ``draw`` its lowest and highest number, and a step if you like, a
    list to choose from, or True or False for a box to tick, as in ``ipywidgets.interactive``. The
    sliders start at the arguments' own defaults, which also give a range where there is none. An
    error in ``draw`` is raised by the cell at first, and stands where the figure was afterwards. A
    stored notebook keeps the first figure.
    Raises ValueError for a range without an argument of ``draw``, or an argument with neither a
    range nor a default.

    >>> sliders(lambda n: n ** 2)
    Traceback (most recent call last):
    ValueError: ranges are for nothing, but the function's arguments are n
    """
    from IPython.display import display
    from IPython.utils.capture import capture_output
    from ipywidgets import interactive
    from ipywidgets.widgets.interaction import show_inline_matplotlib_plots

    arguments = inspect.signature(draw).parameters
    needed = {name for name, each in arguments.items() if each.default is each.empty}
    if not needed <= ranges.keys() <= arguments.keys():
        raise ValueError(f"ranges are for {', '.join(ranges) or 'nothing'}, but the function's "
                         f"arguments are {', '.join(arguments) or 'none'}")
    # "manual": version 8 would call `draw` here, where an error of it would be lost
    panel = interactive(draw, {"manual": True, "auto_display": True}, **ranges)
    panel.manual, panel.children = False, [*panel.kwargs_widgets, panel.out]
    for slider in panel.kwargs_widgets:
        slider.description = str(LABELS.get(slider.description, slider.description))
        slider.observe(panel.update, "value")
    with capture_output() as captured:
        result = draw(**{slider._kwarg: slider.value for slider in panel.kwargs_widgets})
        show_inline_matplotlib_plots()
        if result is not None:
            display(result)
    shown = [output.data for output in captured.outputs]
    if captured.stdout:
        shown.insert(0, {"text/plain": captured.stdout})
    panel.out.outputs = tuple({"output_type": "display_data", "data": data, "metadata": {}}
                              for data in shown)
    still = t("A still picture: run this cell where code can run, and sliders appear above it.")
    display({"application/vnd.jupyter.widget-view+json": {
                 "version_major": 2, "version_minor": 0, "model_id": panel.model_id},
             "text/html": "\n".join([*map(as_html, shown), f"<p><small>{still}</small></p>"]),
             "text/plain": "\n".join(data["text/plain"] for data in shown)}, raw=True)


def as_html(data: dict[str, str]) -> str:
    """One output, of which Jupyter has several forms."""
    words = html.escape(data["text/plain"])
    if "image/png" in data:
        return f'<img alt="{words}" src="data:image/png;base64,{data["image/png"]}">'
    return data.get("text/html", f"<pre>{words}</pre>")
