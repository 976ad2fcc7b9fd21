"""A place for Numba's cache where its own places cannot be written.

Numba stores what it has compiled beside a module, or else in the user's cache. In a
container or on a class server neither may be writable, and the import of a module that
asks for a cache would fail: "cannot cache function: no locator available".

Numba reads only where it can write. Of what was compiled into a read-only installation
(``okbook compile``, by who installs it) every user would compile a copy; links lead to
it from the folder in which Numba looks.
"""

import contextlib
import glob
import hashlib
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
    if _writable(Path(package, "__pycache__")):
        return
    if _writable(_user_cache()):
        _link(package, _user_cache())
    elif folder := _private_folder():
        os.environ["NUMBA_CACHE_DIR"] = folder
        if "numba" in sys.modules:  # has read its environment already
            sys.modules["numba"].config.CACHE_DIR = folder
        _link(package, folder)


def _link(package, folder):
    "Lead from a cache to what is compiled in the package, unless it has newer files."
    for index in Path(os.path.abspath(package)).rglob("__pycache__/*.nbi"):
        above = index.parents[1]
        place = f"{above.name}_{hashlib.sha1(str(above).encode()).hexdigest()}"
        mine = Path(folder, place, index.name)
        with contextlib.suppress(OSError):  # another process does the same, say
            known = os.path.lexists(mine)
            if known and mine.lstat().st_mtime >= index.stat().st_mtime:
                continue
            mine.parent.mkdir(parents=True, exist_ok=True)
            # the index last: what it lists is then there, and of the same make
            data = index.parent.glob(f"{glob.escape(index.stem)}.*.nbc")
            for path in [*data, index]:
                link = mine.with_name(path.name)
                link.unlink(missing_ok=True)
                link.symlink_to(path)


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
