"""Where the interpreter is: in which call of which function, under which transformations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..finding import CallPath, Place

if TYPE_CHECKING:
    from .project import Module
    from .values import Value

# Under these, every operation of JAX gives a tracer, also one on constants.
STAGING = frozenset(
    "jit pmap shard_map scan while_loop fori_loop cond switch map associative_scan checkpoint "
    "eval_shape make_jaxpr".split()
)


class Region:
    """A transformation, or a loop of Python's, around some code."""

    __slots__ = ("axis_name", "details", "is_staged", "kind", "outer", "place")

    def __init__(
        self,
        kind: str,
        outer: Region | None = None,
        place: Place | None = None,
        axis_name: Any = None,
        **details: Any,
    ):
        self.kind: str = kind
        self.outer: Region | None = outer
        self.place: Place | None = place
        self.axis_name: Any = axis_name
        self.details: dict[str, Any] = details
        # A callback leaves the traced world, and so does what is evaluated while tracing.
        self.is_staged: bool = kind in STAGING or (
            kind not in ("callback", "eager") and outer is not None and outer.is_staged
        )

    def chain(self) -> Iterator[Region]:
        """This region and those around it, innermost first."""
        region: Region | None = self
        while region is not None:
            yield region
            region = region.outer

    def __repr__(self) -> str:
        return f"<{self.kind}>"


class Frame:
    """One call of a function, or the run of a module."""

    __slots__ = (
        "breaks",
        "called_at",
        "caller",
        "calls",
        "depth",
        "environment",
        "function",
        "given",
        "global_names",
        "module",
        "name",
        "outer",
        "region",
        "returns",
        "steps",
        "used_at_returns",
        "yields",
    )

    def __init__(
        self,
        module: Module,
        name: str = "",
        function: ast.AST | None = None,
        outer: Frame | None = None,
        region: Region | None = None,
        caller: Frame | None = None,
        called_at: ast.AST | None = None,
    ):
        self.module: Module = module
        self.name: str = name
        self.function: ast.AST | None = function
        self.outer: Frame | None = outer  # the frame that the function was defined in
        self.region: Region | None = region
        self.caller: Frame | None = caller
        self.called_at: ast.AST | None = called_at
        self.calls: CallPath = _calls_to(function, caller, called_at)
        self.depth: int = caller.depth + 1 if caller is not None else 0
        self.environment: dict[str, Value] = {}
        self.given: dict[str, Value] = {}  # the parameters, as the call gave them
        self.global_names: dict[str, str] = {}  # name -> "global" or "nonlocal"
        self.returns: list[tuple[ast.AST, Value]] = []
        # The names at each way out of a loop's turn, with the keys consumed on it.
        self.breaks: list[tuple[dict[str, Value], dict[Any, Any]]] = []
        self.yields: bool = False
        # The keys that were consumed on each way that has ended in a return.
        self.used_at_returns: list[dict[Any, Any]] = []
        self.steps: list[tuple[ast.stmt, Value]] = []

    @property
    def is_staged(self) -> bool:
        """Whether what JAX computes here are tracers, whatever it is computed from."""
        return self.region is not None and self.region.is_staged

    def place(self, syntax: ast.AST) -> Place:
        """The position of a piece of syntax in this frame's file."""
        line: int = getattr(syntax, "lineno", 1)
        column: int = getattr(syntax, "col_offset", 0) + 1
        return Place(self.module.path, line, column, self.name, calls=self.calls)

    def callers(self) -> Iterator[Frame]:
        """This frame and those that called it, innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.caller

    @property
    def called_in(self) -> Frame | None:
        """The run whose code has this call: a transformation runs in a frame of its own."""
        frame = self.caller
        while frame is not None and frame.function is None and frame.caller is not None:
            if frame.caller.environment is not frame.environment:
                break
            frame = frame.caller
        return frame

    def calls_to(self, syntax: ast.AST) -> Iterator[tuple[Frame, ast.AST]]:
        """This frame and those that called it, each with where in it a piece of syntax is run."""
        frame: Frame | None = self
        at: ast.AST | None = syntax
        while frame is not None and at is not None:
            yield frame, at
            frame, at = frame.caller, frame.called_at

    def is_inside(self, other: Frame) -> bool:
        """Whether this frame runs within the call that another one is."""
        return any(frame is other for frame in self.callers())


def _calls_to(function: ast.AST | None, caller: Frame | None, at: ast.AST | None) -> CallPath:
    """The calls by which execution comes to a function."""
    if caller is None:
        return ()
    if function is None or at is None or at in getattr(function, "decorator_list", ()):
        # A transformation runs in a frame of its own, and a decorator whenever the function does.
        return caller.calls
    return ((caller.module.path, getattr(at, "lineno", 1)), *caller.calls)


class Site:
    """A place from which something is called.

    `is_open` says that there are more arguments than are known (`*args` of unknown length),
    `trailing` how many are given by position after these, and `spread` what they are elements of.
    """

    __slots__ = ("frame", "is_open", "spread", "syntax", "trailing")

    def __init__(self, frame: Frame, syntax: ast.AST, is_open: bool = False, trailing: int = 0):
        self.frame: Frame = frame
        self.syntax: ast.AST = syntax
        self.is_open: bool = is_open
        self.trailing: int = trailing
        self.spread: Value | None = None

    def region(self, kind: str, **details: Any) -> Region:
        """A new region that starts here."""
        return Region(kind, self.frame.region, self.frame.place(self.syntax), **details)

    def inside(self, region: Region | None) -> Site:
        """The same place, inside of a region."""
        outer = self.frame
        frame = Frame(outer.module, outer.name, None, outer.outer, region, outer, self.syntax)
        frame.environment = outer.environment
        site = Site(frame, self.syntax, self.is_open, self.trailing)
        site.spread = self.spread
        return site
