"""Random programs, small enough to compile quickly, and shrinking to smaller ones."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from . import grammar as g

# What verax does not yet get right. Each switch keeps a construct out of the programs; turn it
# on to see the failure, and remove it with the fix.

ASK_IN_CUSTOM_RULES = False
"""Around a collected function, a derivative computes the value of a custom rule's function from
the bare equation, where `check_assertions()` is always true."""

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
        mapped: Whether a vmap is around.
        torn: Whether a vmap is around that has a derivative inside.
        order: How many derivatives are around.
        deep: Whether every block must go down to the last level, rather than be broad.
    """

    depth: int
    asks: bool = True
    whiles: bool = True
    custom_vjp: bool = True
    mapped: bool = False
    torn: bool = False
    order: int = 0
    deep: bool = False

    def inside(self, **changes: Any) -> Context:
        return replace(self, depth=self.depth - 1, **changes)


def programs(depth: int = 3, *, reversible: bool = False) -> st.SearchStrategy[g.Program]:
    """Programs with at least one assertion; `reversible` ones have a gradient."""
    context = Context(depth, whiles=not reversible, order=int(reversible))
    broad = st.lists(_statements(context), min_size=1, max_size=4).map(tuple)
    deep = _blocks(replace(context, deep=True))
    return st.one_of(broad, deep).map(g.numbered).filter(_is_fit)


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
# More often true than not, so that failures begin in some later iteration or in some lanes.
_likely = st.one_of(
    st.builds(g.Test, _names, st.just("<"), st.integers(4, 7)),
    st.builds(g.Test, _names, st.just(">="), st.integers(1, 4)),
    st.builds(g.Test, _names, st.just("!="), st.integers(1, 6)),
)
_assertions = st.builds(
    g.Assert,
    tests=st.lists(_likely, min_size=1, max_size=2).map(tuple),
    shown=_shown,
    law=st.sampled_from([None, "first", "largest"]),
)
_limits = st.integers(1, 4)
_elements = st.lists(_numbers, max_size=3).map(tuple)
_offsets = st.lists(_numbers, min_size=2, max_size=3, unique=True).map(tuple)


# Composite strategies rather than nested ones: Hypothesis would print those whole.
@st.composite
def _statements(draw: st.DrawFn, context: Context) -> g.Statement:
    return draw(draw(_one_of_these([*_leaves(context), *_nodes(context)])))


@st.composite
def _deep_blocks(draw: st.DrawFn, context: Context) -> g.Block:
    leaves = st.lists(_one_of_these(_leaves(context)).flatmap(lambda leaf: leaf), max_size=1)
    core = draw(draw(_one_of_these(_nodes(context) or [_assertions])))
    return (*draw(leaves), core, *draw(leaves))


def _one_of_these(strategies: list[st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """One of the strategies, all equally likely; `st.one_of` would count what is inside them."""
    return st.sampled_from(range(len(strategies))).map(strategies.__getitem__)


@functools.cache
def _leaves(context: Context) -> list[st.SearchStrategy[Any]]:
    leaves: list[st.SearchStrategy[Any]] = [
        _assertions,
        _assertions,
        st.builds(g.Assign, _registers, _expressions),
    ]
    return [*leaves, st.builds(g.Ask, _registers)] if context.asks else leaves


@functools.cache
def _nodes(context: Context) -> list[st.SearchStrategy[Any]]:
    """Statements that hold others, from simple to complex; what matters most stands twice."""
    if context.depth == 0:
        return []
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
        return nodes
    customs = [st.builds(g.Custom, st.just("custom_jvp"), _blocks(custom))]
    if context.custom_vjp:
        customs.append(st.builds(g.Custom, st.just("custom_vjp"), _blocks(custom)))
    return [*nodes, st.one_of(customs)]


def _blocks(context: Context) -> st.SearchStrategy[g.Block]:
    if context.deep:
        return _deep_blocks(context)
    return st.lists(_statements(context), min_size=1, max_size=3).map(tuple)


def _short_blocks(context: Context) -> st.SearchStrategy[g.Block]:
    if context.deep:
        return st.one_of(st.just(()), _deep_blocks(context))
    return st.lists(_statements(context), max_size=2).map(tuple)


def _derivatives(context: Context) -> list[st.SearchStrategy[Any]]:
    inside = context.inside(torn=context.mapped, order=context.order + 1)
    backward = _blocks(replace(inside, whiles=False))
    forward = _blocks(replace(inside, custom_vjp=False))
    return [
        st.builds(g.Derive, st.sampled_from(["value_and_grad", "vjp"]), backward),
        st.builds(g.Derive, st.sampled_from(["jvp", "linearize"]), forward),
    ]
