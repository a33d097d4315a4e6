"""Where in the user's code an equation comes from.

Equations remember the stack that made them. Frames of JAX, of other libraries and of verax fold
into the user's line that called them.
"""

from __future__ import annotations

import os
import site
import sysconfig
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax

from ..finding import Place

_LIBRARIES = tuple(
    {
        os.path.join(os.path.realpath(folder), "")
        for folder in (
            *(sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib")),
            *site.getsitepackages(),
            os.fspath(Path(__file__).parents[2]),
        )
    }
)


class UserCode:
    """Which files belong to the audited program.

    All that are not installed, and those of the package that the audited function is part of, be
    it installed or not.
    """

    def __init__(self, function: Callable[..., Any] | None = None):
        self._own = _package_folder(function)
        self._known: dict[str, bool] = {}

    def owns(self, file: str) -> bool:
        """Whether a file is the user's."""
        if file not in self._known:
            self._known[file] = self._decide(file)
        return self._known[file]

    def _decide(self, file: str) -> bool:
        if file.startswith("<") and not file.startswith("<ipython"):
            return False
        real = os.path.realpath(file)
        if self._own and real.startswith(self._own):
            return True
        return not real.startswith(_LIBRARIES)

    def frames(
        self, raw: Sequence[tuple[Any, int]], outermost: tuple[str, int] | None = None
    ) -> tuple[Place, ...]:
        """The user's frames of a stack, innermost first.

        The stack may go on beyond the traced function, whose file and first line are `outermost`:
        what called that function first is not what calls it now.
        """
        found: list[Place] = []
        for code, offset in raw:
            if self.owns(code.co_filename):
                found.append(_place(code.co_filename, code, offset))
            if outermost == (code.co_filename, code.co_firstlineno):
                break
        return tuple(found)


def _package_folder(function: Callable[..., Any] | None) -> str | None:
    function = getattr(function, "func", function)  # functools.partial
    module = getattr(function, "__module__", None)
    code = getattr(_unwrapped(function), "__code__", None)
    if code is None or not module or module == "__main__":
        return None
    path = Path(os.path.realpath(code.co_filename))
    depth = module.count(".") + (path.name == "__init__.py")
    if depth == 0:
        return os.fspath(path)
    return os.path.join(os.fspath(path.parents[depth - 1]), "")


def _unwrapped(function: Any) -> Any:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


@lru_cache(maxsize=4096)
def _positions(code: Any) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


# Code is equal to the same code in another file, so that the file must be part of the question.
@lru_cache(maxsize=65536)
def _place(file: str, code: Any, offset: int) -> Place:
    positions = _positions(code)
    index = offset // 2
    line, _, column, _ = positions[index] if index < len(positions) else (None,) * 4
    return Place(
        file=file,
        line=line or code.co_firstlineno,
        column=(column or 0) + 1,
        function=_function(code),
    )


def _function(code: Any) -> str:
    """The name of a function, inside of others as the source engine writes it."""
    return code.co_qualname.replace("<locals>.", "")


_JAX = (
    os.path.join(os.fspath(Path(jax.__file__).parent), ""),
    os.path.join(os.fspath(Path(__file__).parents[2]), ""),
)


def is_jax(file: str) -> bool:
    """Whether code is JAX's own, or ours."""
    return file.startswith(_JAX)


def place_at(code: Any, offset: int) -> Place:
    """The place of an instruction of the user's code."""
    return _place(code.co_filename, code, offset)


def place_of_function(function: Any) -> Place | None:
    """Where a function is defined."""
    code = getattr(_unwrapped(getattr(function, "func", function)), "__code__", None)
    if code is None:
        return None
    return Place(code.co_filename, code.co_firstlineno, 1, _function(code))
