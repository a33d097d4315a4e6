"""The user's module, imported as `python file.py` would find it, but not run as a program."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from .close import did_you_mean
from .errors import UsageError


def import_file(file: str, here: Path) -> ModuleType:
    """Import a file; inside of a package, as that package's module."""
    path = Path(file).resolve()
    package = _package_of(path)
    if package:
        # The file's own folder comes last: a package may hold a `random.py` of its own.
        root = path.parents[len(package)]
        sys.path[:0] = _paths(root, here)
        sys.path.append(str(path.parent))
        stem = () if path.stem == "__init__" else (path.stem,)
        return importlib.import_module(".".join((*package, *stem)))
    sys.path[:0] = _paths(path.parent, here)
    name = path.stem
    if name in sys.modules or name in sys.stdlib_module_names or name == "verax":
        name = f"_audited_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # as for any import: dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


def import_module(name: str, here: Path) -> ModuleType:
    """Import a module by name, from the working directory or from what is installed."""
    sys.path[:0] = _paths(here)
    return importlib.import_module(name)


def _paths(*folders: Path) -> list[str]:
    return list(dict.fromkeys(str(folder) for folder in folders))


def _package_of(path: Path) -> tuple[str, ...]:
    """The names of the packages around a file, the outermost first."""
    names: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").exists() and folder.name.isidentifier():
        names.insert(0, folder.name)
        folder = folder.parent
    return tuple(names) if path.stem.isidentifier() else ()


def attribute(module: ModuleType, dotted: str, home: str) -> object:
    """What a dotted name means in a module.

    Raises:
        UsageError: Nothing; with names that are close.
    """
    value: object = module
    owner = home
    for name in dotted.split("."):
        try:
            value = getattr(value, name)
        except AttributeError:
            known = [it for it in dir(value) if not it.startswith("_")]
            raise UsageError(f"{owner} has no {name!r}{did_you_mean(name, known)}") from None
        owner = f"{owner}:{name}" if owner == home else f"{owner}.{name}"
    return value
