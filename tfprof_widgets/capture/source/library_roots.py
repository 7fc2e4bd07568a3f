"""A running program -> the folders and files of the libraries that it can import, and with them whose a source file is.

    library_roots()     # ("/usr/lib/python3.12", "/usr/local/lib/python3.12/dist-packages", "/kit/keras", ...)

A path tells little by itself: packages lie in `site-packages`, in `dist-packages` (Debian, Colab), or wherever PYTHONPATH
points, beside the user's own code; and a project may hold the environment that it runs in.
"""

from __future__ import annotations

import functools
import os
import re
import site
import sys
import sysconfig
from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

FRAMEWORKS = ("tensorflow", "keras", "tf_keras", "numpy", "optree", "wrapt", "absl", "IPython", "ipykernel")
"""Libraries of every traceback, wherever they were imported from: unpacked or built without being installed."""
_FIRST_PART = re.compile(r"^(?:([^/,\n]+)/|([^/,\n]+\.py),)", re.MULTILINE)
"""Of each line of a list of installed files the folder, or the single module."""
_SCHEME = ("stdlib", "platstdlib", "purelib", "platlib")


@functools.cache
def library_roots() -> tuple[str, ...]:
    """Folders (and single modules) of Python, of what is installed, and of this package; sorted, without a separator at the end.

    An editable install is none of them: its folder is where the user works. They are looked for once, as they are asked for
    with every frame, and again after `look_for_libraries()`.
    """
    # Import takes no notice of what else programs put there.
    search_path = tuple(entry for entry in sys.path if isinstance(entry, str))
    return _library_roots(search_path, tuple(_folder_of(name) for name in FRAMEWORKS))


def look_for_libraries() -> None:
    """Take note of what was imported since the last look."""
    library_roots.cache_clear()


@functools.lru_cache(maxsize=8)
def _library_roots(search_path: tuple[str, ...], imported: tuple[str, ...]) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    whole = {paths[key] for key in _SCHEME if paths.get(key)} | {*_site_folders(), str(Path(__file__).parents[2])}
    whole |= {os.path.realpath(root) for root in whole}
    elsewhere = [entry for entry in search_path if entry and os.path.realpath(entry) not in whole]
    packages = [folder for folder in imported if folder and not is_below(folder, tuple(whole))]
    roots = whole.union(packages, *(_installed_in(entry) for entry in elsewhere))
    named = {one.rstrip(os.sep) for root in roots for one in (root, os.path.realpath(root))}
    return tuple(sorted(named - {""}))


def _site_folders() -> tuple[str, ...]:
    # Where Python is embedded or has no `site`, the scheme above is all there is.
    folders = site.getsitepackages() if hasattr(site, "getsitepackages") else []
    user = site.getusersitepackages() if site.ENABLE_USER_SITE else ""
    return *folders, *([user] if user else [])


def _folder_of(name: str) -> str:
    """Where an imported package lies; "" where it is not imported, or is no package in a folder."""
    file = getattr(sys.modules.get(name), "__file__", None)
    return str(Path(file).parent) if isinstance(file, str) and Path(file).name == "__init__.py" else ""


def _installed_in(entry: str) -> Iterator[str]:
    """What installed distributions put into a folder: packages and modules, not all that lies there."""
    try:
        if not any(Path(entry).glob("*.dist-info")):
            return
        for one in distributions(path=[entry]):
            for name in _top_level(one):
                if (root := Path(entry, name)).exists():
                    yield str(root)
    except (OSError, ValueError):  # a folder of a server that is gone, a list of files that is damaged
        return


def _top_level(installed: Distribution) -> set[str]:
    """First parts of the paths of its files that Python imports."""
    # Not from `installed.files`, an object a file: of TensorFlow's 20,000 that took half a second in which the steps waited.
    names = {name or module for name, module in _FIRST_PART.findall(installed.read_text("RECORD") or "")}
    return {name for name in names if not name.endswith((".dist-info", ".data")) and name not in ("..", "bin")}


def is_below(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a path is one of the roots or lies in one; `site-packages-demo` does not lie in `site-packages`."""
    return any(path == root or path.startswith(root + os.sep) for root in roots)
