"""The modules of a project: from files to names and back, read when they are asked for."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence

from . import reading
from .disk import Disk, Question
from .frame import Frame
from .of_jax import OF_JAX
from .reading import Problem, SourceText, UnreadableError
from .remember import walked

# Names that mean a library or Python's own module wherever they are imported.
_NEVER_OWN = sys.stdlib_module_names | frozenset(
    "jax jaxlib numpy scipy flax optax equinox haiku chex distrax rlax brax numpyro blackjax "
    "diffrax gymnax torch tensorflow pandas matplotlib jaxtyping einops orbax absl tqdm".split()
)
# Libraries whose arrays have methods of the same names that take other arguments.
_OTHER_ARRAYS = re.compile(
    r"^[ \t]*(?:import|from)[ \t]+(?:torch|tensorflow|keras|paddle|mxnet|theano|aesara|pytensor"
    r"|mindspore|tinygrad)\b",
    re.MULTILINE,
)


class Module:
    """A file of the project, parsed.

    `frame` is made when the module is run; until then its names are not known.
    `has_other_arrays` says whether what it calls an array may be another library's: one is imported
    there, or nothing that comes from JAX.
    """

    __slots__ = (
        *("folder", "frame", "has_other_arrays", "is_package", "name", "path", "syntax", "text"),
    )

    def __init__(self, path: str, folder: str, text: str, syntax: ast.Module):
        self.path: str = path
        self.name: str = _module_name(path, folder)
        self.text: str = text
        self.syntax: ast.Module = syntax
        self.folder: str = folder
        self.is_package: bool = os.path.basename(path) == "__init__.py"
        self.has_other_arrays: bool = _OTHER_ARRAYS.search(text) is not None
        self.frame: Frame | None = None

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    def absolute(self, name: str | None, level: int) -> str:
        """The full name of what an import statement names."""
        if level == 0:
            return name or ""
        parts = self.package.split(".") if self.package else []
        base = parts[: len(parts) - (level - 1)]
        return ".".join([*base, *([name] if name else [])])


class Project:
    """All modules that an audit can see. `roots` are folders in which packages are looked for."""

    def __init__(self, roots: Sequence[str], read: Callable[[str], SourceText] = reading.read):
        self._roots = [os.path.abspath(root) for root in roots]
        self.disk: Disk = Disk(read)
        self._modules: dict[str, tuple[Module | Problem, frozenset[Question]]] = {}
        self._found: dict[tuple[str, str, bool], tuple[str | None, frozenset[Question]]] = {}
        self._uses_jax: dict[str, bool] = {}
        # Since the last start.
        self._ran: list[Module] = []

    def start(self) -> None:
        """Forget what was run: what a file tells must not depend on what was audited before it."""
        self.disk.start()
        for module in self._ran:
            module.frame = None
        self._ran = []
        # Asked again for each root, since the answer depends on what the disk says.
        self._uses_jax = {}

    def ran(self, module: Module) -> Frame:
        """A frame for the run of a module."""
        frame = module.frame = Frame(module, "")
        self._ran.append(module)
        if not self.uses_jax(module):
            module.has_other_arrays = True
        return frame

    def uses_jax(self, module: Module) -> bool:
        """Whether a file imports JAX, itself or by way of other files of the project."""
        known = self._uses_jax.get(module.path)
        if known is None:
            known = self._uses_jax[module.path] = self._finds_jax(module)
        return known

    def _finds_jax(self, module: Module) -> bool:
        pending, seen = [module], {module.path}
        for importer in pending:
            names = list(imported(importer))
            if any(name.partition(".")[0] in OF_JAX for name in names):
                return True
            for name in names:
                found = self.find(name, importer)
                if found is not None and found.path not in seen:
                    seen.add(found.path)
                    pending.append(found)
        return False

    def module(self, path: str) -> Module | Problem:
        """The module in a file, or why there is none."""
        return self.disk.once(self._modules, path, lambda: self._parsed(path))

    def _parsed(self, path: str) -> Module | Problem:
        try:
            source = self.disk.read(path)
        except UnreadableError as error:
            return error.problem
        tree = reading.parse(source)
        if isinstance(tree, Problem):
            return tree
        return Module(path, self._top_folder(path), source.text, tree)

    def _top_folder(self, path: str) -> str:
        """The folder above the outermost package that a file is in."""
        folder = os.path.dirname(path)
        while self.disk.is_file(os.path.join(folder, "__init__.py")):
            above = os.path.dirname(folder)
            if above == folder:
                break
            folder = above
        return folder

    def find(self, name: str, importer: Module) -> Module | None:
        """The module of the project with a full name, as another module would import it."""
        top = name.partition(".")[0]
        own = importer.name.partition(".")[0] == top
        if top in _NEVER_OWN and not own:
            return None
        path = self.disk.once(
            self._found,
            (name, importer.folder, own),
            lambda: self._search(name, importer.folder, own),
        )
        module = None if path is None else self.module(path)
        return module if isinstance(module, Module) else None

    def _search(self, name: str, base: str, own: bool) -> str | None:
        """The file of a module."""
        parts = name.split(".")
        for folder in dict.fromkeys((base, *self._roots)):
            # Installed packages are not the project's, except for the one that is audited.
            if not own and os.path.basename(folder) in ("site-packages", "dist-packages"):
                continue
            top = os.path.join(folder, parts[0])
            if not (self.disk.is_folder(top) or self.disk.is_file(f"{top}.py")):
                continue
            for path in _files_of(os.path.join(folder, *parts)):
                if self.disk.is_file(path):
                    return path
        return None


def _files_of(stem: str) -> tuple[str, str]:
    """The files that a module can be in: a package, or a file of its own."""
    return os.path.join(stem, "__init__.py"), stem + ".py"


def imported(module: Module) -> Iterator[str]:
    """The full names of all that a file may import, wherever in it."""
    for statement in walked(module.syntax):
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            source = module.absolute(statement.module, statement.level)
            yield source
            yield from (f"{source}.{alias.name}" for alias in statement.names)


def _module_name(path: str, folder: str) -> str:
    """The full name under which a file is imported from a folder."""
    relative = os.path.relpath(path, folder)
    stem = os.path.splitext(relative)[0].replace(os.sep, ".")
    return stem.removesuffix(".__init__") if stem != "__init__" else ""
