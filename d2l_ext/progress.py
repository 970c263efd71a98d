"""The bar of a cell that takes a while."""


def progress_bar(name: str, steps: int):
    """A progress bar, shown in the cell that runs. Nothing of it is stored: no text stands for it.

    Its ``value`` runs from 0 to ``steps``.
    """
    from IPython.display import display
    from ipywidgets import FloatProgress
    style = {"description_width": "initial"}
    bar = FloatProgress(value=0, max=steps, description=name, style=style)
    view = {"version_major": 2, "version_minor": 0, "model_id": bar.model_id}
    display({"application/vnd.jupyter.widget-view+json": view}, raw=True)  # display(bar) adds text
    return bar
