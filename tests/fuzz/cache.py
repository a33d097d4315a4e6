"""Random edits of a project, after each of which an audit with a cache tells what one without does.

The edits are those that change which file a name means: modules that move between a package, `src`
and a file of the same name, links and what they lead to, folders without `__init__.py`, files that
shadow others, settings and ignored files that come and go.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from verax.audit.render import to_json
from verax.audit.settings import read_settings
from verax.audit.source.engine import Options, audit_paths

STEPS = 25  # edits of one case

# What a module may import, and in which files and folders that may be.
_IMPORTS = {
    "from a import draw": ("a",),
    "import a\ndraw = a.draw": ("a",),
    "from b import *": ("b",),
    "from pkg.a import draw": ("pkg", "pkg/a"),
    "from pkg import a\ndraw = a.draw": ("pkg", "pkg/a"),
    "from pkg import draw": ("pkg",),
    "import pkg.inner.b as it\ndraw = it.draw": ("pkg", "pkg/inner", "pkg/inner/b"),
    "from .a import draw": ("a",),
    "from . import b\ndraw = b.draw": ("b",),
    "from ..a import *": ("../a",),
    "from .inner import draw": ("inner",),
}
# What makes an array of a size that tells one module from another.
_HELPERS = (
    "def draw(key):\n    return jax.random.normal(key, ({size},))\n",
    "def draw(key):\n    return jax.random.normal(key) + jax.random.uniform(key, ({size},))\n",
    "def draw(key):\n    return jax.numpy.zeros({size})\n",
    "def draw(key):\n    return jax.random.split(key, {size})\n",
    "",
)
_MAIN = """
@jax.jit
def main(key):
    first = jax.random.normal(key)
    return first, draw(key)
"""
_BROKEN = (
    b"",
    b"def f(:\n",
    b"x = '\xff'\n",
    b"\0",
    b"\xef\xbb\xbfimport jax\n",
    b"# verax: ignore\n",
)
_MAINS = ("main.py", "main.py", "pkg/main.py", "src/main.py", "pkg/inner/main.py")
_OTHERS = ("pkg/__init__.py", "src/__init__.py", "a.ipynb", "pkg/b.ipynb", "a.pyi", "src", "b.py")
_SETTINGS = (
    "exclude = ['pkg/']",
    "exclude = ['a.py']",
    "max-file-size = 150",
    "preview = true",
    "",
)
_IGNORE_FILES = (".gitignore", "pkg/.gitignore")
_IGNORED = ("b.py\n", "pkg/\n!pkg/a.py\n", "inner/\n", "")


class Project:
    """A folder to edit, and what has been done to it."""

    def __init__(self, folder: Path, rng: random.Random):
        self.folder = folder / "project"
        self.own = folder
        self.main = rng.choice(_MAINS)
        # Where imports are looked for follows from the targets: with few, more is found elsewhere.
        own = (self.main,)
        self.targets = rng.choice((own, own, own, (self.main, "a.py"), (".",), ("src", "pkg")))
        # A few names, so that edits meet.
        self.imports = rng.sample(sorted(_IMPORTS), rng.choice((1, 1, 2)))
        folders = rng.sample(sorted({"", "src", os.path.dirname(self.main)}), 2)
        names = [
            os.path.normpath(os.path.join(folder, f"{stem}{end}"))
            for imported in self.imports
            for stem in _IMPORTS[imported]
            for folder in folders
            for end in (".py", "/__init__.py", "")
        ]
        self.names = [it for it in names if not it.startswith("..")] + rng.sample(_OTHERS, 1)
        self.done: list[str] = []
        self.folder.mkdir()
        self.edit(write_main, rng)

    def edit(self, edit: Callable[[Project, random.Random], str], rng: random.Random) -> None:
        """Change something; what the file system does not allow changes nothing."""
        with suppress(OSError, shutil.Error):
            self.done.append(edit(self, rng))
        # Without what imports, nothing is looked for.
        if not (self.folder / self.main).exists() and rng.random() < 0.8:
            self.edit(write_main, rng)

    def check(self, sections: bool) -> None:
        """Audit with the cache and without, perhaps with data flows, and compare.

        Raises:
            AssertionError: The reports differ.
        """
        with _at(self.folder, self.own):
            targets = [it for it in self.targets if os.path.exists(it)] or ["."]
            settings = read_settings(self.folder)
            options = Options(
                exclude=settings.exclude,
                base=str(settings.folder or ""),
                max_bytes=settings.max_file_size or Options.max_bytes,
                jobs=1,
                sections=sections,
            )
            warm = to_json.render(audit_paths(targets, options))
            cold = to_json.render(audit_paths(targets, replace(options, cache=False)))
        assert warm == cold, "\n".join([*self.done, f"audit {targets}", warm, "instead of", cold])

    def path(self, rng: random.Random, end: str | tuple[str, ...] = "") -> Path:
        """One of the project's names with an end, whose folder exists afterwards."""
        names = [it for it in self.names if it.endswith(end)]
        if not names:
            raise FileNotFoundError
        path = self.folder / rng.choice(names)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def existing(self, rng: random.Random) -> Path:
        """Something that is there."""
        kept = ("pyproject.toml", "main.py")
        there = sorted(it for it in self.folder.rglob("*") if it.name not in kept)
        if not there:
            raise FileNotFoundError
        return rng.choice(there)

    def shown(self, path: Path) -> str:
        """A path as messages name it."""
        return str(path.relative_to(self.folder))


def write_main(project: Project, rng: random.Random) -> str:
    """Write a module that calls what it imports."""
    path = project.folder / project.main
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f"import jax\n{rng.choice(project.imports)}\n{_MAIN}"
    path.write_text(text)
    return f"write {project.shown(path)}: {text!r}"


def write(project: Project, rng: random.Random) -> str:
    """Write a module that can be imported, and may import others."""
    path = project.path(rng, ".py")
    parts = [rng.choice((*project.imports, "", "")), _helper(rng)]
    text = "import jax\n" * (rng.random() < 0.9) + "\n".join(parts[:: rng.choice((1, -1))])
    path.write_text(text)
    return f"write {project.shown(path)}: {text!r}"


def _helper(rng: random.Random) -> str:
    return rng.choice(_HELPERS).format(size=rng.randrange(2, 100))


def write_broken(project: Project, rng: random.Random) -> str:
    """Write something that is no module."""
    path, data = project.path(rng, (".py", ".ipynb")), rng.choice(_BROKEN)
    path.write_bytes(data)
    return f"write {project.shown(path)}: {data!r}"


def write_beside(project: Project, rng: random.Random) -> str:
    """Write a notebook, or a stub, beside a module."""
    path = project.path(rng, (".ipynb", ".pyi"))
    text = _helper(rng) + _MAIN
    if path.suffix == ".ipynb":
        lines = [
            f"{line}\n" for line in f"import jax\n{rng.choice(project.imports)}\n{text}".split("\n")
        ]
        cell = f'{{"cell_type": "code", "source": {lines!r}}}'.replace("'", '"')
        text = f'{{"nbformat": 4, "cells": [{cell}]}}'
    path.write_text(text)
    return f"write {project.shown(path)}: {text!r}"


def move(project: Project, rng: random.Random) -> str:
    """Move a file or a folder, perhaps over something else."""
    source, target = _from_to(project, rng)
    if rng.random() < 0.5:
        _remove(target)
    shutil.move(source, target)
    return f"move {project.shown(source)} to {project.shown(target)}"


def _from_to(project: Project, rng: random.Random) -> tuple[Path, Path]:
    """Something, and a place for it; a folder seldom gets the name of a file."""
    source = project.existing(rng)
    while True:
        target = project.path(rng)
        if source.is_dir() != bool(target.suffix) or rng.random() < 0.1:
            break
    # Python would copy a folder into itself, without an end, where a link hides that.
    if os.path.realpath(target).startswith(os.path.realpath(source)):
        raise FileExistsError
    return source, target


def copy(project: Project, rng: random.Random) -> str:
    """Copy a file or a folder."""
    source, target = _from_to(project, rng)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copyfile(source, target)
    return f"copy {project.shown(source)} to {project.shown(target)}"


def swap(project: Project, rng: random.Random) -> str:
    """Let two files or folders change places."""
    one, other, between = project.existing(rng), project.existing(rng), project.folder / "between"
    one.rename(between)
    try:
        other.rename(one)
    except OSError:
        between.rename(one)
        raise
    between.rename(other)
    return f"swap {project.shown(one)} and {project.shown(other)}"


def delete(project: Project, rng: random.Random) -> str:
    """Delete a file or a folder."""
    path = project.existing(rng)
    _remove(path)
    return f"delete {project.shown(path)}"


def make_folder(project: Project, rng: random.Random) -> str:
    """Make a folder, perhaps of a name that a file would have."""
    path = project.path(rng)
    path.mkdir()
    return f"make folder {project.shown(path)}"


def make_package(project: Project, rng: random.Random) -> str:
    """Turn a folder into a package."""
    path = project.path(rng, "__init__.py")
    path.touch()
    return f"touch {project.shown(path)}"


def link(project: Project, rng: random.Random) -> str:
    """Make a link, which may lead nowhere, or lead somewhere else than it did."""
    path, target = project.path(rng), project.folder / rng.choice(project.names)
    _remove(path)
    path.symlink_to(target)
    return f"link {project.shown(path)} to {project.shown(target)}"


def set_up(project: Project, rng: random.Random) -> str:
    """Change the settings, or have none."""
    path, text = project.folder / "pyproject.toml", rng.choice(_SETTINGS)
    if rng.random() < 0.3:
        path.unlink()
        return "delete pyproject.toml"
    path.write_text(f"[tool.verax]\n{text}\n")
    return f"set {text}"


def ignore(project: Project, rng: random.Random) -> str:
    """Change what is ignored."""
    path, text = project.folder / rng.choice(_IGNORE_FILES), rng.choice(_IGNORED)
    path.write_text(text)
    return f"write {project.shown(path)}: {text!r}"


EDITS = (
    *(write, write, write_main, move, move, copy, swap, delete, delete, link, make_folder),
    *(write, write, write_main, move, move, copy, swap, delete, delete, link, make_package),
    *(write_broken, write_beside, set_up, ignore),
)


def run(rng: random.Random) -> str | None:
    """Edit a project, and audit it after each edit.

    Raises:
        AssertionError: An audit with the cache told something else than one without.
    """
    with tempfile.TemporaryDirectory() as folder:
        project = Project(Path(folder), rng)
        for _ in range(STEPS):
            project.edit(rng.choice(EDITS), rng)
            project.check(sections=rng.random() < 0.8)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _at(folder: Path, own: Path) -> Iterator[None]:
    """Work in a folder, with a cache of one's own."""
    before = os.getcwd()
    os.chdir(folder)
    places = {"VERAX_CACHE_DIR": str(own / "cache"), "XDG_STATE_HOME": str(own / "state")}
    try:
        with patch.dict(os.environ, places):
            yield
    finally:
        os.chdir(before)
