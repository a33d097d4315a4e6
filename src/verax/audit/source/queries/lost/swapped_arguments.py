"""Arguments that stand in each other's place: each of two has the name of the other's parameter."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...classes import all_fields, has_fields_as_parameters
from ...events import Fact
from ...frame import Frame
from ...parameters import NamedFunction, parameters, positional
from ...remember import each
from ...text import text_of
from ...values import Class, Function
from ..loops.bodies import frames_by_call
from .swapped_results import SIDES, TURNING

if TYPE_CHECKING:
    from ...facts import SourceFacts

_VERSION = re.compile(r"^(new|next|old|prev|updated)_(?=\w)")


@dataclass(frozen=True)
class SwappedArguments:
    """A call with two arguments in each other's place; `taken_at` is where they are parameters.

    `instead` is what the parameter gets that the first one is named like, if that is no swap.
    """

    place: Place
    names: tuple[str, str]
    taken_at: Place
    instead: str = ""


@dataclass(frozen=True)
class _Callee:
    """What is called: its parameters in order, and where it is written."""

    names: list[str]
    place: Place


def swapped_arguments(facts: SourceFacts) -> Iterator[SwappedArguments]:
    """All such calls in functions of the file."""
    told: set[ast.AST] = set()
    for function, runs in facts.functions():
        if not TURNING.isdisjoint(words_of(function.name)):
            continue
        for call in each(function, ast.Call):
            if call not in told and _may_be_swapped(call):
                found = _of_call(facts, runs[0], function, call)
                if found is not None:
                    told.add(call)
                    yield found
    for fact in facts.events(Fact):
        if fact.kind == "tree map" and fact.syntax not in told:
            found = _of_leaves(fact)
            if found is not None:
                told.add(fact.syntax)
                yield found


def _of_leaves(fact: Fact) -> SwappedArguments | None:
    """A tree that is mapped under the name of another parameter than the one that gets its leaves.

    Where the function is written beside the call, its parameter hides that very name.
    """
    mapped, call = fact.data["function"], fact.syntax
    if not isinstance(mapped, Function) or not isinstance(call, ast.Call):
        return None
    if mapped.frame is not fact.frame or any(isinstance(it, ast.Starred) for it in call.args):
        return None
    names = [it.arg for it in positional(mapped.syntax)]
    if len(names) != len(call.args) - 1:
        return None
    for parameter, tree in zip(names, call.args[1:], strict=False):
        name = _name(tree) if isinstance(tree, ast.Name) else ""
        if len(name) > 2 and name in names and name != parameter:
            place, taken_at = fact.frame.place(tree), fact.frame.place(mapped.syntax)
            instead = text_of(call.args[names.index(name) + 1])
            return SwappedArguments(place, (name, parameter), taken_at, instead)
    return None


def _may_be_swapped(call: ast.Call) -> bool:
    """Whether it has two arguments with names, which are known to be for which parameter."""
    given = [*call.args, *[it.value for it in call.keywords]]
    if len(given) < 2 or any(isinstance(it, ast.Starred) for it in call.args):
        return False
    return sum(bool(_name(it)) for it in given) >= 2


def _of_call(
    facts: SourceFacts, frame: Frame, function: NamedFunction, call: ast.Call
) -> SwappedArguments | None:
    callee = _callee(facts, frame, call)
    if callee is None or len(call.args) > len(callee.names):
        return None
    pair = _swapped(callee.names, call)
    if pair is None or _only_turns(function, call):
        return None
    others = (it for it in each(function, ast.Call) if it is not call)
    # Who calls it both ways round means both.
    if any(
        ast.dump(it.func) == ast.dump(call.func) and _has_straight(callee, it, pair)
        for it in others
    ):
        return None
    given = [*call.args, *(it.value for it in call.keywords)]
    first = next(it for it in given if pair[0] == _plain(_name(it)))
    return SwappedArguments(frame.place(first), pair, callee.place)


def _callee(facts: SourceFacts, frame: Frame, call: ast.Call) -> _Callee | None:
    called = call.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    cls = facts.machine.lookup(frame, name) if isinstance(called, ast.Name) else None
    if isinstance(cls, Class) and has_fields_as_parameters(cls):
        return _Callee(list(all_fields(cls)), cls.frame.place(cls.syntax))
    for inner in frames_by_call(facts).get(call, ()):
        it = inner.function
        # What was made from a function may take its arguments at other positions.
        if isinstance(it, NamedFunction) and it.name in (name, "__call__", "__init__"):
            names = [one.arg for one in positional(it)]
            if names[:1] in (["self"], ["cls"]):
                names = names[1:]
            own = {one.arg for one in parameters(it)}
            return _Callee(names, inner.place(it)) if own else None
    return None


def _given(names: list[str], call: ast.Call) -> Iterator[tuple[str, str, bool]]:
    """Parameters with the names of what they are given, and whether that is by keyword."""
    for parameter, it in zip(names, call.args, strict=False):
        yield parameter, _name(it), False
    for it in call.keywords:
        yield it.arg or "", _name(it.value), True


def _name(value: ast.expr) -> str:
    """What an argument is called: by itself, as a field, or as the entry of a dict."""
    match value:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
        case ast.Call(func=ast.Attribute(value=inner, attr="astype")):
            return _name(inner)
        case _:
            return ""


def _plain(name: str) -> str:
    """A name without a word that says which version it is."""
    return _VERSION.sub("", name)


def _swapped(names: list[str], call: ast.Call) -> tuple[str, str] | None:
    given = [it for it in _given(names, call) if it[0] and it[1]]
    by_name: dict[str, list[tuple[int, str]]] = {}
    for number, (one, of_one, _) in enumerate(given):
        by_name.setdefault(one, []).append((number, of_one))
    for number, (one, of_one, is_keyword) in enumerate(given):
        other = _plain(of_one)
        for later, of_other in by_name.get(other, ()):
            if later <= number or _plain(of_other) != one or one == other:
                continue
            if not SIDES.isdisjoint((*words_of(one), *words_of(other))):
                continue
            # `f(senders=receivers, receivers=senders)` says what it does.
            is_new = of_one != other and of_other != one
            if is_keyword and not is_new:
                continue
            # Short names say too little: `f(n, m)` is as often meant as not.
            if min(len(one), len(other)) > 2 and not _are_roles(given, one, other):
                return other, one
    return None


def _are_roles(given: list[tuple[str, str, bool]], one: str, other: str) -> bool:
    """Whether more arguments have the same two words exchanged: the call is for the other side.

    `split(root_b, root_a, cholesky_b)` of `split(root_a, root_b, cholesky_a)` does for `b` what
    the function says of `a`.
    """
    first, second = words_of(one), words_of(other)
    differing = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    if len(first) != len(second) or len(differing) != 1:
        return False
    a, b = differing[0]
    turned = {a: b, b: a}
    return any(
        parameter not in (one, other)
        and parameter != name
        and [turned.get(it, it) for it in words_of(parameter)] == list(words_of(name))
        for parameter, name, _ in given
    )


def _has_straight(callee: _Callee, call: ast.Call, pair: tuple[str, str]) -> bool:
    return any(one in pair and _plain(name) == one for one, name, _ in _given(callee.names, call))


def _only_turns(function: NamedFunction, call: ast.Call) -> bool:
    """Whether a function does nothing but call another one with its own parameters."""
    last = function.body[-1]
    is_all = isinstance(last, ast.Return) and last.value is call
    own = {it.arg for it in parameters(function)}
    rest = [it for it in function.body[:-1] if not isinstance(it, ast.Expr)]
    return is_all and not rest and all(_name(it) in own for it in call.args)
