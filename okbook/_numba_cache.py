"""A place for Numba's cache where its own places cannot be written.

Numba stores what it has compiled beside a module, or else in the user's cache. In a
container or on a class server neither may be writable, and the import of a module that
asks for a cache would fail: "cannot cache function: no locator available".
"""

import os
import stat
import sys
from pathlib import Path


def find_numba_cache(package):
    """Set ``NUMBA_CACHE_DIR``, unless it is set or Numba finds a place by itself.

    Parameters
    ----------
    package : str
        The folder of the installed package.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or os.name != "posix":
        return
    if _writable(Path(package, "__pycache__")) or _writable(_user_cache()):
        return
    if folder := _private_folder():
        os.environ["NUMBA_CACHE_DIR"] = folder
        if "numba" in sys.modules:  # has read its environment already
            sys.modules["numba"].config.CACHE_DIR = folder


def _user_cache():
    "Where Numba keeps what a user compiles."
    if sys.platform == "darwin":
        return Path(os.path.expanduser("~/Library/Caches/numba"))
    return Path(os.getenv("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "numba")


def _writable(folder):
    "Whether a folder is there, or can be made, and files in it."
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)


def _private_folder():
    """A temporary folder that nobody else can write, because Numba executes what it
    finds there; None if there is no such place."""
    import tempfile

    try:
        above = tempfile.gettempdir()
    except FileNotFoundError:
        return None
    folder = os.path.join(above, f"okbook-numba-{os.getuid()}")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        found = os.lstat(folder)
        private = stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
        if not private or found.st_uid != os.getuid():  # somebody else was here
            return tempfile.mkdtemp(prefix="okbook-numba-")
    except OSError:
        return None
    return folder
