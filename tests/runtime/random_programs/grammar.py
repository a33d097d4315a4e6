"""A small language of programs that loop, branch, map, differentiate, and assert.

A program turns two registers, `a` and `b`, into two. A third name, `e`, can only be read: it is
what the innermost loop or map is about (an element, an index, a lane's offset). All three always
hold one of the numbers 0 to 7, so that arithmetic is exact and every comparison has two
outcomes. Derivatives are integers, too.

`text` prints a program in a notation close to the JAX code that `in_jax` makes of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

MODULUS = 8
"""Results are taken modulo this number."""

STRIDE = 3
"""Loops change a register by this much in each iteration, so that tests come out differently."""

WEIGHTS = (1, 2)
"""A derivative is that of `1 * a + 2 * b`; a push-forward starts from the tangents 1 and 2."""

CUSTOM_FACTORS = (2, 3)
"""A custom rule says that the derivative of `a` is 2 and that of `b` is 3, whatever is computed."""

Register = Literal["a", "b"]
Name = Literal["a", "b", "e"]


@dataclass(frozen=True)
class Test:
    """A comparison of a value with a constant."""

    name: Name
    operator: Literal["<", ">=", "!="]
    constant: int


@dataclass(frozen=True)
class Add:
    x: Name
    y: Name


@dataclass(frozen=True)
class Multiply:
    x: Name
    y: Name


@dataclass(frozen=True)
class Scale:
    x: Name
    factor: int
    summand: int


@dataclass(frozen=True)
class Choose:
    test: Test
    x: Name
    y: Name


Expression = Add | Multiply | Scale | Choose


class Statement:
    """Something that reads `a`, `b` and `e`, and gives new values to `a` and `b`."""


Block = tuple[Statement, ...]


@dataclass(frozen=True)
class Assign(Statement):
    target: Register
    expression: Expression


@dataclass(frozen=True)
class Assert(Statement):
    """A `runtime_assert`.

    One test makes a scalar predicate, two make a vector. `shown` are the message's values:
    names, or `int` (of `a`), `pair` (of `a` and `b`), `flag` (whether `b` is less than 4).
    """

    tests: tuple[Test, ...]
    shown: tuple[str, ...] = ("a",)
    law: Literal["first", "largest"] | None = None
    site: int = -1


@dataclass(frozen=True)
class Ask(Statement):
    """Add 1 to the target unless all assertions so far have passed."""

    target: Register


@dataclass(frozen=True)
class Scan(Statement):
    """A scan over `elements + shift`.

    Each iteration begins by adding `e` to `moved`, and what it leaves there is stacked; the stack
    is added to `a` with weights.
    """

    elements: tuple[int, ...]
    shift: Name
    reverse: bool
    moved: Register
    body: Block


@dataclass(frozen=True)
class Fori(Statement):
    """A `fori_loop` that begins each iteration by adding `STRIDE` to `moved`.

    With `extra`, the number of iterations is known only when it runs.
    """

    lower: int
    count: int
    extra: Register | None
    moved: Register
    body: Block


@dataclass(frozen=True)
class While(Statement):
    """At most `limit` iterations, while `test` holds after running `condition` on a copy.

    Each iteration begins by adding `STRIDE` to `moved`.
    """

    limit: int
    condition: Block
    test: Test
    moved: Register
    body: Block


@dataclass(frozen=True)
class Cond(Statement):
    test: Test
    then: Block
    otherwise: Block


@dataclass(frozen=True)
class Switch(Statement):
    """The branch with number `index`, or the last one if there are fewer."""

    index: Name
    branches: tuple[Block, ...]


@dataclass(frozen=True)
class Vmap(Statement):
    """Lanes that differ by an offset to `target`; their results are added with weights."""

    offsets: tuple[int, ...]
    target: Register
    body: Block


@dataclass(frozen=True)
class Map(Statement):
    """Like `Vmap`, but one after the other, by `lax.map`."""

    offsets: tuple[int, ...]
    target: Register
    body: Block


@dataclass(frozen=True)
class Derive(Statement):
    """Add to the registers the block's value and its derivatives, taken by `way`."""

    way: Literal["value_and_grad", "vjp", "jvp", "linearize"]
    body: Block


@dataclass(frozen=True)
class Wrap(Statement):
    """A block that means the same without the transformation around it."""

    way: Literal["jit", "checkpoint"]
    body: Block


@dataclass(frozen=True)
class Custom(Statement):
    """A block with a derivative rule of its own; see `CUSTOM_FACTORS`."""

    way: Literal["custom_jvp", "custom_vjp"]
    body: Block


@dataclass(frozen=True)
class Drop(Statement):
    """A block whose results nobody uses."""

    way: Literal["call", "jit"]
    body: Block


@dataclass(frozen=True)
class Program:
    """A block whose assertions are numbered in the order in which they must come out."""

    block: Block

    def __repr__(self) -> str:
        return "\n" + text(self.block)


@dataclass(frozen=True)
class Place:
    """An assertion, the sizes of the vmaps around it and the number of loops around it."""

    assertion: Assert
    lanes: tuple[int, ...]
    depth: int


def blocks(statement: Statement) -> list[Block]:
    """The blocks inside a statement, in the order in which their assertions come out."""
    match statement:
        case While(condition=condition, body=body):
            return [condition, body]
        case Cond(then=then, otherwise=otherwise):
            # JAX numbers the branches like booleans: false is 0.
            return [otherwise, then]
        case Switch(branches=branches):
            return list(branches)
        case _:
            return [statement.body] if hasattr(statement, "body") else []


def statements(block: Block) -> Iterator[Statement]:
    """All statements of a block and of those inside it."""
    for statement in block:
        yield statement
        for inner in blocks(statement):
            yield from statements(inner)


def places(block: Block, lanes: tuple[int, ...] = (), depth: int = 0) -> Iterator[Place]:
    """The assertions of a block, in the order in which they must come out."""
    for statement in block:
        if isinstance(statement, Assert):
            yield Place(statement, lanes, depth)
        more = (len(statement.offsets),) if isinstance(statement, Vmap) else ()
        loops = isinstance(statement, (Scan, Fori, While, Map))
        for inner in blocks(statement):
            yield from places(inner, (*lanes, *more), depth + loops)


def numbered(block: Block) -> Program:
    """A program whose assertions can be told apart."""
    count = iter(range(len(list(places(block)))))

    def renew(block: Block) -> Block:
        return tuple(renewed(statement) for statement in block)

    def renewed(statement: Statement) -> Statement:
        match statement:
            case Assert():
                return dataclasses.replace(statement, site=next(count))
            case While(condition=condition, body=body):
                return dataclasses.replace(statement, condition=renew(condition), body=renew(body))
            case Cond(then=then, otherwise=otherwise):
                otherwise = renew(otherwise)
                return dataclasses.replace(statement, then=renew(then), otherwise=otherwise)
            case Switch(branches=branches):
                return dataclasses.replace(statement, branches=tuple(map(renew, branches)))
            case _ if hasattr(statement, "body"):
                return dataclasses.replace(statement, body=renew(statement.body))
            case _:
                return statement

    return Program(renew(block))


def text(block: Block, indent: str = "    ") -> str:
    """A block as a person would write it down."""
    if not block:
        return f"{indent}pass"
    return "\n".join(_lines(statement, indent) for statement in block)


def _lines(statement: Statement, indent: str) -> str:
    deeper = indent + "    "

    def under(head: str, *parts: tuple[str, Block]) -> str:
        lines = [f"{indent}{head}"]
        for title, block in parts:
            lines.extend(
                [f"{indent}{title}", text(block, deeper)] if title else [text(block, deeper)]
            )
        return "\n".join(lines)

    match statement:
        case Assign(target, expression):
            return f"{indent}{target} = {_expression(expression)}"
        case Assert(tests, shown, law, site):
            fix = f", {law} fix_args" if law else ""
            tested = ", ".join(map(_test, tests))
            return f"{indent}assert #{site}: {tested}, showing {', '.join(shown)}{fix}"
        case Ask(target):
            return f"{indent}{target} += not check_assertions()"
        case Scan(elements, shift, reverse, moved, body):
            way = " reversed" if reverse else ""
            head = f"scan e in {list(elements)} + {shift}{way}, {moved} += e, stacking {moved}:"
            return under(head, ("", body))
        case Fori(lower, count, extra, moved, body):
            upper = f"{lower + count}{f' + {extra} % 3' if extra else ''}"
            return under(f"fori_loop e from {lower} to {upper}, {moved} += {STRIDE}:", ("", body))
        case While(limit, condition, test, moved, body):
            head = f"while_loop at most {limit} times,"
            more = f"and {_test(test)}; body, {moved} += {STRIDE}:"
            return under(head, ("condition:", condition), (more, body))
        case Cond(test, then, otherwise):
            return under(f"cond {_test(test)}:", ("", then), ("else:", otherwise))
        case Switch(index, branches):
            parts = [(f"case {number}:", branch) for number, branch in enumerate(branches)]
            return under(f"switch {index}:", *parts)
        case Vmap(offsets, target, body):
            return under(f"vmap e in {list(offsets)}, {target} += e:", ("", body))
        case Map(offsets, target, body):
            return under(f"map e in {list(offsets)}, {target} += e:", ("", body))
        case Drop(way, body):
            return under(f"drop the results of {way}:", ("", body))
        case Derive(way, body) | Wrap(way, body) | Custom(way, body):
            return under(f"{way}:", ("", body))
    raise TypeError(statement)


def _test(test: Test) -> str:
    return f"{test.name} {test.operator} {test.constant}"


def _expression(expression: Expression) -> str:
    match expression:
        case Add(x, y):
            return f"({x} + {y}) % {MODULUS}"
        case Multiply(x, y):
            return f"({x} * {y}) % {MODULUS}"
        case Scale(x, factor, summand):
            return f"({x} * {factor} + {summand}) % {MODULUS}"
        case Choose(test, x, y):
            return f"{x} if {_test(test)} else {y}"
