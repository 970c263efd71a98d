# @title Set-up: unpacks the helper packages, which this notebook carries in its last line.
# Nothing is installed or fetched. This copy wins over any other d2l_ext, and lies in a temporary
# folder until the kernel stops. To read its source, write in a cell of your own:
# d2l_ext.MultiHeadAttention?? or, for the folder of all of it, import d2l_ext; d2l_ext.__file__
import atexit
import base64
import io
import lzma
import shutil
import sys
import tempfile
import zipfile


def carry(packed):
    """Unpack the package where every import finds it first; forget any other that is loaded."""
    folder = tempfile.mkdtemp(prefix="d2l_ext-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    archive = lzma.decompress(base64.b85decode(packed))
    with zipfile.ZipFile(io.BytesIO(archive)) as file:
        file.extractall(folder)
    for name in [name for name in sys.modules
                 if name.split(".")[0] in ("attention_lessons", "d2l_ext")]:
        del sys.modules[name]
    sys.path.insert(0, folder)
    return folder


if "carried" not in globals():  # run again, this cell leaves what was imported as it is
    carried = carry("PACKED")
