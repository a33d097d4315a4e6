"""Where a module lies, found without running a line of it or of its packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder


def module_path(name: str, folders: Sequence[str] | None = None) -> str | None:
    """The file of a module or the folder of a package, by absolute path.

    Looked for in `folders`: by default in the working directory, in its `src`, and where Python
    looks. `None` where there is none, or none that is written in Python.
    """
    here = os.getcwd()
    path: Sequence[str] | None = folders or [here, os.path.join(here, "src"), *sys.path]
    found: str | None = None
    for part in name.split("."):
        if path is None:
            return None  # what stands before is a module, which holds no others
        # `find_spec` of importlib itself would import the packages above.
        spec = PathFinder.find_spec(part, path)
        if spec is None:
            return None
        path = spec.submodule_search_locations
        found = next(iter(path), None) if path is not None else spec.origin
    if found is None or not (os.path.isdir(found) or found.endswith(".py")):
        return None
    return os.path.abspath(found)
