"""How `make lab` reads notebooks: with this machine's kernel named in them.

JupyterLab writes its kernel's name and version into a notebook when it opens one, and would mark
every lesson as changed. Files stay as they are until somebody saves.
"""
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelspec import get_kernel_dict
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

KERNEL = {"name": "python3", "language": "python",
          "display_name": get_kernel_dict()["display_name"]}
LANGUAGE = IPythonKernel.language_info


class Notebooks(AsyncLargeFileManager):
    """Jupyter's files, and what it would change in a notebook already changed."""

    async def get(self, path, content=True, **options):
        model = await super().get(path, content=content, **options)
        if content and model["type"] == "notebook":
            metadata = model["content"]["metadata"]
            if metadata.get("kernelspec", KERNEL)["name"] == KERNEL["name"]:
                metadata.update(kernelspec=KERNEL, language_info=LANGUAGE)
        return model
