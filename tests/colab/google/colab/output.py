"""Colab's switch for widgets: who turns it on is noted in the file that COLAB_LOG names."""
import os
from types import SimpleNamespace

_widgets = SimpleNamespace(_installed_url=None)


def enable_custom_widget_manager(url: str = "stand-in") -> None:
    _widgets._installed_url = url
    with open(os.environ["COLAB_LOG"], "a", encoding="utf-8") as log:
        log.write("widgets enabled\n")
