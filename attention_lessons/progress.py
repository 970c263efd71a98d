"""The bar of a cell that takes a while."""


def progress_bar(name: str, steps: int):
    """A progress bar in the cell that runs; set its ``value`` from 0 to ``steps``.

    Nothing of it is stored in the notebook.
    """
    from IPython.display import display
    from ipywidgets import FloatProgress
    style = {"description_width": "initial"}
    bar = FloatProgress(max=steps, description=name, style=style)
    view = {"version_major": 2, "version_minor": 0, "model_id": bar.model_id}
    display({"application/vnd.jupyter.widget-view+json": view}, raw=True)  # display(bar) adds text
    return bar
