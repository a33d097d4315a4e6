"""The user's source text behind a place: the statement, and what it assigns."""

from __future__ import annotations

import ast
import linecache
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ..finding import Place


@dataclass(frozen=True)
class Statement:
    """A statement of the user's code, on its own lines.

    `targets` are the names that it assigns. For a compound statement (`for`, `if`, `def`) the text
    is that of its head.
    """

    file: str
    line: int
    end_line: int
    text: str
    targets: tuple[str, ...]


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions that it defines."""
    body = [function.body] if isinstance(function, ast.Lambda) else function.body
    pending: list[ast.AST] = [*body]
    while pending:
        node = pending.pop(0)
        yield node
        if not isinstance(node, (Function, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))


class Sources:
    """Files of the user, read once."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._loops: dict[tuple[Place, ...], tuple[Place, ...]] = {}

    def statement(self, place: Place) -> Statement | None:
        """The innermost statement at a place; `None` if the source cannot be read."""
        return self._file(place).by_line.get(place.line)

    def returned(self, place: Place) -> Place | None:
        """The last `return` of the function that a place is in."""
        line = self._file(place).last_return(place.line)
        return None if line is None else Place(place.file, line, 1, place.function)

    def function(self, place: Place) -> Function | None:
        """The function that is defined at a place: at its first line, decorators included."""
        return self._file(place).functions.get(place.line)

    def is_unread(self, place: Place, name: str) -> bool:
        """Whether what the statement at a place assigns to a name is read by nothing after it.

        Only where that is plain: a name of the function's own, no loop around, and no function
        inside of it that reads the name.
        """
        return self._file(place).is_unread(place.line, name)

    def rest_of_function(self, place: Place) -> list[Statement]:
        """The statements after a place, up to the end of the function around it."""
        return self._file(place).rest_of_function(place.line)

    def loops(self, frames: tuple[Place, ...]) -> tuple[Place, ...]:
        """The heads of the innermost `for` or `while` in each frame of a stack that is in one."""
        if frames not in self._loops:
            heads = ((frame, self._file(frame).loop_around(frame.line)) for frame in frames)
            self._loops[frames] = tuple(
                Place(frame.file, line, 1, frame.function)
                for frame, line in heads
                if line is not None
            )
        return self._loops[frames]

    def _file(self, place: Place) -> _File:
        if place.file not in self._files:
            self._files[place.file] = _File(place.file)
        return self._files[place.file]


class _File:
    def __init__(self, name: str):
        self._name = name
        linecache.checkcache(name)  # In a notebook, files change between two audits.
        self._lines = linecache.getlines(name)

    @cached_property
    def _tree(self) -> ast.AST:
        try:
            return ast.parse("".join(self._lines))
        except (SyntaxError, ValueError):
            return ast.Module([], [])

    @cached_property
    def functions(self) -> dict[int, Function]:
        """The functions by their first lines; of several in one line, the outermost."""
        found: dict[int, Function] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, Function):
                decorators = getattr(node, "decorator_list", ())
                first = min([node.lineno, *(it.lineno for it in decorators)])
                found.setdefault(first, node)
        return found

    def loop_around(self, line: int) -> int | None:
        """The line of the innermost loop's head around a line."""
        return max((first for first, last in self._loops if first <= line <= last), default=None)

    @cached_property
    def _loops(self) -> list[tuple[int, int]]:
        return [
            (node.lineno, node.end_lineno or node.lineno)
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.For, ast.While))
        ]

    def is_unread(self, line: int, name: str) -> bool:
        """See `Sources.is_unread`."""
        function = self._function_around(line)
        if function is None:
            return False
        own = list(own_nodes(function))
        at = [it for it in own if isinstance(it, ast.stmt) and _covers(it, line)]
        if not at or any(isinstance(it, (ast.For, ast.While, ast.AsyncFor)) for it in at):
            return False
        statement = min(at, key=lambda it: (it.end_lineno or it.lineno) - it.lineno)
        inside = {id(it) for it in own}
        reads: list[int] = []
        for node in ast.walk(function):
            if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                return False
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                if id(node) not in inside:
                    return False
                reads.append(node.lineno)
        end = statement.end_lineno or statement.lineno
        overwritten = _next_assignment(own, statement, name)
        last = overwritten if overwritten is not None else float("inf")
        return not any(end < read <= last for read in reads)

    def rest_of_function(self, line: int) -> list[Statement]:
        """See `Sources.rest_of_function`."""
        function = self._function_around(line)
        last = function.end_lineno if function is not None else None
        numbers = range(line + 1, (last or line) + 1)
        found = (self.by_line.get(number) for number in numbers)
        return list(dict.fromkeys(it for it in found if it is not None and it.line > line))

    def _function_around(self, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        around = [it for it in ast.walk(self._tree) if isinstance(it, kinds) and _covers(it, line)]
        return max(around, key=lambda it: it.lineno, default=None)

    def last_return(self, line: int) -> int | None:
        """The line of the last `return` of the innermost function around a line."""
        around = [
            node
            for node in ast.walk(self._tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ]
        if not around:
            return None
        function = max(around, key=lambda node: node.lineno)
        inner = [it for it in ast.walk(function) if isinstance(it, ast.FunctionDef)]
        returns = [
            node.lineno
            for node in ast.walk(function)
            if isinstance(node, ast.Return)
            and not any(
                it is not function and it.lineno <= node.lineno <= (it.end_lineno or 0)
                for it in inner
            )
        ]
        return max(returns, default=None)

    @cached_property
    def by_line(self) -> dict[int, Statement]:
        """The innermost statement of each line."""
        found: dict[int, Statement] = {}
        # Outer statements come first, so that inner ones overwrite them.
        pending: list[ast.AST] = [self._tree]
        while pending:
            node = pending.pop(0)
            if isinstance(node, ast.stmt):
                statement = self._statement(node)
                for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                    found[line] = statement
            pending.extend(child for child in ast.iter_child_nodes(node))
        return found

    def _code(self, number: int) -> str:
        """A line without its comment."""
        line = self._lines[number - 1]
        if "#" in line:
            line = line[: self._comments.get(number)]
        return line.strip()

    @cached_property
    def _comments(self) -> dict[int, int]:
        """Where the comment of a line begins."""
        tokens = tokenize.generate_tokens(iter(self._lines).__next__)
        return {it.start[0]: it.start[1] for it in tokens if it.type == tokenize.COMMENT}

    def _statement(self, node: ast.stmt) -> Statement:
        last = _end_of_head(node)
        lines = [self._code(number) for number in range(node.lineno, last + 1)]
        return Statement(self._name, node.lineno, last, " ".join(lines), _targets(node))


def _end_of_head(node: ast.stmt) -> int:
    """Where a statement ends; for a compound one, where its head does."""
    body = getattr(node, "body", None)
    end = node.end_lineno or node.lineno
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        first = body[0].lineno
        return max(node.lineno, min(end, first - 1))
    return end


def _covers(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _next_assignment(nodes: list[ast.AST], statement: ast.stmt, name: str) -> int | None:
    """Where a later statement of the same block assigns a name again; its last line."""
    for node in nodes:
        for block in ("body", "orelse", "finalbody"):
            found = _after(getattr(node, block, None), statement, name)
            if found is not None:
                return found
    own = [it for it in nodes if isinstance(it, ast.stmt)]
    return _after(own, statement, name)


def _after(block: object, statement: ast.stmt, name: str) -> int | None:
    if not isinstance(block, list) or statement not in block:
        return None
    for later in block[block.index(statement) + 1 :]:  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        if isinstance(later, ast.stmt) and later.col_offset != statement.col_offset:
            continue
        if isinstance(later, ast.Assign) and name in _targets(later):
            return later.end_lineno
    return None


def _targets(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, ast.Assign):
        targets: list[ast.expr] = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    else:
        return ()
    names: list[str] = []
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        names += [ast.unparse(part) for part in parts]
    return tuple(names)
