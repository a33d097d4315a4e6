"""Choices for a whole batch that hang on one flag, made of those of all its elements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ....words import is_episode_end
from ...events import Event, Fact
from ...graph import Node
from ...operations import BROADCASTS, CASTS, CLIPS, FULLS, SELECTIONS, VIEWS
from ...shapes.shape import rank
from ...values import Constant, Data, Value
from ..names import names_of
from ..nodes import is_flag, nodes_by
from .negation import without_negation

if TYPE_CHECKING:
    from ...facts import SourceFacts


class Choice(NamedTuple):
    """Where something is chosen, by what, and what is taken if that holds, and if not."""

    event: Event
    by: Node
    taken: Value
    otherwise: Value


class Joined(NamedTuple):
    """The one flag, and those that it is made of; `all` of them must be set if `is_all`.

    `is_turned` if the choice asks for the opposite, and `is_first` if one element speaks for all.
    `is_across` if they are flags of the lanes of a map, or of devices, which a collective joins.
    """

    flag: Node
    flags: Node
    is_all: bool = False
    is_turned: bool = False
    is_first: bool = False
    is_across: bool = False


def choices(facts: SourceFacts) -> Iterator[Choice]:
    """Every choice between two values, and every factor that leaves something or makes it zero."""
    for fact in facts.events(Fact):
        if fact.kind not in ("cond", "switch") or not isinstance(fact.data["predicate"], Data):
            continue
        by, results = fact.data["predicate"].node, fact.data["results"]
        if len(results) == 2:
            yield Choice(fact, by, *(results if fact.kind == "cond" else results[::-1]))
    for call in facts.calls(SELECTIONS):
        if len(call.args) == 3 and isinstance(call.args[0], Data):
            yield Choice(call, call.args[0].node, call.args[1], call.args[2])
    for node in nodes_by(facts, ("*",)):
        if len(node.inputs) == 2 and node.syntax and node.frame:
            one, other = node.inputs
            for by, value in ((one, other), (other, one)):
                if by.shape != ():
                    continue
                if is_flag(_turned(by)[0]) or joined_flags(facts, by) is not None:
                    yield Choice(Event(node.syntax, node.frame), by, Data(value), Constant(0))


_NAMES = ("jax.numpy", "ndarray")
_ANY = frozenset(f"{owner}.any" for owner in _NAMES)
_ALL = frozenset(f"{owner}.all" for owner in _NAMES)
# Of flags, which are numbers then, they tell the same.
_MOST = frozenset(f"{owner}.{it}" for owner in _NAMES for it in ("sum", "max", "count_nonzero"))
_LEAST = frozenset(f"{owner}.{it}" for owner in _NAMES for it in ("min", "prod"))
_SAME = VIEWS | BROADCASTS | {"lane", "primal"}
_ACROSS = frozenset(("jax.lax.pmax", "jax.lax.psum", "jax.lax.pmean"))
_ACROSS_ALL = frozenset(("jax.lax.pmin",))
# A number of flags, but not more than one.
# What asks whether a number of flags is at least one, or none, and with which number.
_SOME = {">": 0, "!=": 0, ">=": 1, "jax.numpy.minimum": 1}
_NONE = {"==": 0, "<=": 0, "<": 1}


def joined_flags(facts: SourceFacts, choice: Node) -> Joined | None:
    """What a choice hangs on, if that is one flag for several."""
    flag, is_turned = _turned(choice)
    if not flag.inputs:
        return None
    if flag.operation == "item":
        flags = _first_of(flag)
        return None if flags is None else Joined(flag, flags, False, is_turned, True)
    if (flag.operation in _ACROSS or flag.operation in _ACROSS_ALL) and is_flag(flag.inputs[0]):
        flags = _without(CASTS, flag.inputs[0])
        return Joined(flag, flags, flag.operation in _ACROSS_ALL, is_turned, is_across=True)
    flags = _without(CASTS, flag.inputs[0])
    if flags.shape == () or not _takes_all(flag, flags):
        return None
    is_all = flag.operation in _ALL or (flag.operation in _LEAST and _are_flags(facts, flags))
    is_any = flag.operation in _ANY or (flag.operation in _MOST and _are_flags(facts, flags))
    if not is_all and not is_any:
        return None
    # That all are not set is the opposite of that any is.
    flags, is_opposite = without_negation(flags)
    return Joined(flag, flags, is_all is not is_opposite, is_turned is not is_opposite)


def _are_flags(facts: SourceFacts, node: Node) -> bool:
    """Whether numbers are flags, or somebody else has made them and they are called so."""
    return is_flag(node) or any(map(is_episode_end, names_of(facts, node)))


def _turned(node: Node) -> tuple[Node, bool]:
    """A flag without changes of its shape and type, and whether it is asked for the opposite."""
    is_turned = False
    for _ in range(12):
        before = node
        node, is_negated = without_negation(_without(_SAME, node))
        is_turned = is_turned is not is_negated
        if node.operation in FULLS and node.inputs:
            node = node.inputs[-1]
        elif node.operation in CLIPS and len(node.inputs) == 1:
            node = node.inputs[0]
        elif len(node.inputs) == 1 and len(node.operands) == 2:
            number = getattr(node.operands[1], "value", None)
            if number == _SOME.get(node.operation, ...):
                node = node.inputs[0]
            elif number == _NONE.get(node.operation, ...):
                node, is_turned = node.inputs[0], not is_turned
        if node is before:
            break
    return node, is_turned


def _first_of(element: Node) -> Node | None:
    """The flags of which one element is taken, by a number."""
    if element.label != "0":
        return None
    flags = _without(CASTS, element.inputs[0])
    # One of several results of a function is no element of an array.
    has_rows = isinstance(flags.shape, tuple) and len(flags.shape) == 1
    return flags if has_rows and is_flag(flags) else None


def _takes_all(flag: Node, flags: Node) -> bool:
    """Whether a reduction leaves one: along one axis it leaves a flag for each of the others."""
    syntax = flag.syntax
    if not isinstance(syntax, ast.Call):
        return False
    if rank(flags.shape) == 1:
        return True
    given = len(syntax.args) - flag.operation.startswith("jax.numpy.")
    return given == 0 and all(it.arg in ("keepdims", "dtype") for it in syntax.keywords)


def _without(changes: frozenset[str], node: Node) -> Node:
    while node.operation in changes and node.inputs:
        node = node.inputs[0]
    return node
