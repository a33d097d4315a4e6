"""Random programs, small enough to compile quickly, and shrinking to smaller ones."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import jax
from hypothesis import strategies as st

from . import grammar as g

# What verax does not yet get right. Each switch keeps a construct out of the programs; turn it
# on to see the failure, and remove it with the fix.

ASK_IN_CUSTOM_RULES = False
"""Around a collected function, a derivative computes the value of a custom rule's function from
the bare equation, where `check_assertions()` is always true."""

ARRAYS_IN_CUSTOM_VJP = False
"""A `custom_vjp` function that uses a constant array has that array as an argument of its
equation, and JAX refuses to differentiate by it."""

GRADIENT_AROUND_CUSTOM_VJP = jax.__version_info__ >= (0, 9)
"""Compiled by JAX 0.8, the predicate of an assertion in a `custom_vjp` function has a tangent,
and a gradient around the collected function wants a rule for `reduce_and`."""

ASK_IN_CHECKPOINTS_OF_LANES = False
"""In a checkpoint that is differentiated inside of a vmap, `check_assertions()` knows only of its
own lane; without the derivative, it knows of all lanes."""


@dataclass(frozen=True)
class Context:
    """What may stand at some point of a program.

    Attributes:
        depth: How many statements may still be nested here.
        asks: Whether `check_assertions` may.
        whiles: Whether loops of unknown length may: they have no reverse derivative.
        custom_vjp: Whether functions may that have no forward derivative.
        arrays: Whether statements may that hold a constant array.
        mapped: Whether a vmap is around.
        torn: Whether a vmap is around that has a derivative inside.
        order: How many derivatives are around.
    """

    depth: int
    asks: bool = True
    whiles: bool = True
    custom_vjp: bool = True
    arrays: bool = True
    mapped: bool = False
    torn: bool = False
    order: int = 0

    def inside(self, **changes: Any) -> Context:
        return replace(self, depth=self.depth - 1, **changes)


def programs(depth: int = 3, *, reversible: bool = False) -> st.SearchStrategy[g.Program]:
    """Programs with at least one assertion; `reversible` ones have a gradient."""
    context = Context(
        depth,
        whiles=not reversible,
        custom_vjp=GRADIENT_AROUND_CUSTOM_VJP or not reversible,
        order=int(reversible),
    )
    return (
        st.lists(_statements(context), min_size=1, max_size=4)
        .map(lambda statements: g.numbered(tuple(statements)))
        .filter(_is_fit)
    )


inputs = st.tuples(st.integers(0, 7), st.integers(0, 7))


def _is_fit(program: g.Program) -> bool:
    every = list(g.statements(program.block))
    assertions = sum(isinstance(statement, g.Assert) for statement in every)
    return 1 <= assertions <= 8 and len(every) <= 20


_numbers = st.integers(0, g.MODULUS - 1)
_registers = st.sampled_from("ab")
_names = st.sampled_from("abe")
_tests = st.builds(g.Test, _names, st.sampled_from(["<", ">=", "!="]), st.integers(1, 6))
_expressions = st.one_of(
    st.builds(g.Add, _names, _names),
    st.builds(g.Scale, _names, st.integers(-1, 2), _numbers),
    st.builds(g.Multiply, _names, _names),
    st.builds(g.Choose, _tests, _names, _names),
)
_shown = st.lists(
    st.sampled_from(["a", "b", "e", "int", "pair", "flag"]), min_size=1, max_size=3, unique=True
).map(tuple)
_assertions = st.builds(
    g.Assert,
    tests=st.lists(_tests, min_size=1, max_size=2).map(tuple),
    shown=_shown,
    law=st.sampled_from([None, "first", "largest"]),
)
_limits = st.integers(1, 4)
_elements = st.lists(_numbers, max_size=3).map(tuple)
_offsets = st.lists(_numbers, min_size=1, max_size=3, unique=True).map(tuple)


# Composite strategies rather than nested ones: Hypothesis would print those whole.
@st.composite
def _statements(draw: st.DrawFn, context: Context) -> g.Statement:
    kinds = _kinds(context)
    return draw(kinds[draw(st.sampled_from(range(len(kinds))))])


@functools.cache
def _kinds(context: Context) -> list[st.SearchStrategy[Any]]:
    """Statements from simple to complex; what matters most stands twice."""
    leaves: list[st.SearchStrategy[Any]] = [
        _assertions,
        _assertions,
        st.builds(g.Assign, _registers, _expressions),
    ]
    if context.asks:
        leaves.append(st.builds(g.Ask, _registers))
    if context.depth == 0:
        return leaves
    inside = context.inside()
    custom = context.inside(asks=context.asks and ASK_IN_CUSTOM_RULES)
    saved = context.inside(asks=context.asks and (ASK_IN_CHECKPOINTS_OF_LANES or not context.torn))
    blocks, short = _blocks(inside), _short_blocks(inside)
    nodes: list[st.SearchStrategy[Any]] = [
        st.builds(g.Cond, _tests, short, short),
        st.builds(g.Switch, _names, st.lists(short, min_size=2, max_size=3).map(tuple)),
        st.builds(g.Fori, st.integers(0, 2), st.integers(0, 3), st.none(), _registers, blocks),
        st.builds(g.Wrap, st.just("jit"), blocks),
        st.builds(g.Wrap, st.just("checkpoint"), _blocks(saved)),
        st.builds(g.Drop, st.sampled_from(["call", "jit"]), blocks),
        *_derivatives(context),
    ]
    mapped = _blocks(context.inside(mapped=True))
    if context.arrays:
        nodes += [
            st.builds(g.Scan, _elements, _names, st.booleans(), _registers, blocks),
            st.builds(g.Map, _offsets, _registers, blocks),
            st.builds(g.Vmap, _offsets, _registers, mapped),
            st.builds(g.Vmap, _offsets, _registers, mapped),
        ]
    if context.whiles:
        nodes += [
            st.builds(g.While, _limits, short, _tests, _registers, blocks),
            st.builds(g.While, _limits, short, _tests, _registers, blocks),
            st.builds(g.Fori, st.integers(0, 2), st.integers(0, 1), _registers, _registers, blocks),
        ]
    # Before 0.11, the derivative of a differentiated scan forgets the rules of functions in it.
    if context.order > 1:
        return [*leaves, *nodes]
    customs = [st.builds(g.Custom, st.just("custom_jvp"), _blocks(custom))]
    if context.custom_vjp:
        rule = replace(custom, arrays=context.arrays and ARRAYS_IN_CUSTOM_VJP)
        customs.append(st.builds(g.Custom, st.just("custom_vjp"), _blocks(rule)))
    return [*leaves, *nodes, st.one_of(customs)]


def _blocks(context: Context) -> st.SearchStrategy[g.Block]:
    return st.lists(_statements(context), min_size=1, max_size=3).map(tuple)


def _short_blocks(context: Context) -> st.SearchStrategy[g.Block]:
    return st.lists(_statements(context), max_size=2).map(tuple)


def _derivatives(context: Context) -> list[st.SearchStrategy[Any]]:
    inside = context.inside(torn=context.mapped, order=context.order + 1)
    backward = _blocks(replace(inside, whiles=False))
    forward = _blocks(replace(inside, custom_vjp=False))
    return [
        st.builds(g.Derive, st.sampled_from(["value_and_grad", "vjp"]), backward),
        st.builds(g.Derive, st.sampled_from(["jvp", "linearize"]), forward),
    ]
