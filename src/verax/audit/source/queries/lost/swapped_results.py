"""Results that are taken apart in another order than the function gives them in."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ....words import words_of
from ...frame import Frame
from ...remember import each, remembered
from ...text import text_of
from ...values import Data, Sequence
from ..forwarding import makers
from ..loops.bodies import frames_by_call

if TYPE_CHECKING:
    from ...facts import SourceFacts

# Who takes these the other way round may mean it: the axes of a picture, two sides of something.
SIDES = frozenset(
    "left right leftmost rightmost first second low high lower upper one two row col rows cols "
    "width height min max old new source target start end real imag sin cos fwd bwd "
    "lhs rhs".split()
)

# What is called so turns things round on purpose.
TURNING = frozenset("reverse reversed swap swapped flip flipped mirror transpose inverse".split())


@dataclass(frozen=True)
class Swapped:
    """An assignment whose names are those that the function returns, two of them swapped."""

    place: Place
    names: tuple[str, str]
    returned_at: Place


def swapped_results(facts: SourceFacts) -> Iterator[Swapped]:
    """All such assignments of a file."""
    told: set[ast.stmt] = set()
    for function, runs in facts.functions():
        yield from _of_returns(runs[0], function)
    for frame in facts.own_frames:
        for statement, _ in frame.steps:
            found = _of_statement(facts, frame, statement) if statement not in told else None
            if found is not None:
                told.add(statement)
                yield found


def _of_returns(frame: Frame, function: ast.AST) -> Iterator[Swapped]:
    """Returns of one function that give the same names in another order."""
    returns = _tuples_returned(function)
    if len(returns) < 2:
        return
    tests = [text_of(it.test) for it in each(function, ast.If)]
    if not TURNING.isdisjoint(word for it in tests for word in words_of(it)):
        return
    for number, (syntax, names) in enumerate(returns):
        for first, others in returns[:number]:
            pair = _swapped(names, others)
            if pair is not None and _has_array(frame, syntax) and _has_array(frame, first):
                yield Swapped(frame.place(syntax), pair, frame.place(first))
                return


def _has_array(frame: Frame, returned: ast.Return) -> bool:
    """Whether an array is returned; other things change places for many good reasons."""
    value = next((it for syntax, it in frame.returns if syntax is returned), None)
    items = value.items if isinstance(value, Sequence) else None
    return any(isinstance(it, Data) and (it.is_array or bool(it.traced)) for it in items or ())


@remembered
def _tuples_returned(function: ast.AST) -> list[tuple[ast.Return, list[str]]]:
    """The returns of a function, without those inside of others, with the names in each."""
    scopes = each(function, ast.FunctionDef, ast.AsyncFunctionDef)
    inner = {it for scope in scopes if scope is not function for it in each(scope, ast.Return)}
    found: list[tuple[ast.Return, list[str]]] = []
    for it in each(function, ast.Return):
        names = _names(it.value) if it not in inner else None
        if names is not None:
            found.append((it, names))
    return found


def _of_statement(facts: SourceFacts, frame: Frame, statement: ast.stmt) -> Swapped | None:
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Tuple):
        return None
    called = frames_by_call(facts).get(statement.value, ())
    beside = [it for it in called if _is_differentiated(target, it)]
    for callee in (*beside, *makers(facts, frame, statement.value)):
        is_beside = callee in beside
        if len(callee.returns) != 1:
            continue
        taken = _names(target.elts[0] if is_beside else target)
        if taken is None or len(_tuples_returned(callee.function or target)) > 1:
            continue  # Which of several orders is the right one, its own returns tell.
        if _swaps_arguments(statement.value, callee) or _swaps_parts(statement.value, callee):
            continue  # What goes in the other way round comes out so.
        syntax = callee.returns[0][0]
        given = _names(syntax.value) if isinstance(syntax, ast.Return) else None
        pair = _swapped(taken, given) if given is not None else None
        if pair is not None:
            return Swapped(frame.place(statement), pair, callee.place(syntax))
    return None


def _is_differentiated(target: ast.Tuple, callee: Frame) -> bool:
    """Whether results come beside a gradient: `(loss, aux), grads = value_and_grad(f)(x)`."""
    regions = callee.region.chain() if callee.region is not None else ()
    is_nested = len(target.elts) == 2 and isinstance(target.elts[0], ast.Tuple)
    return is_nested and any("grad" in it.kind for it in regions)


def _swaps_arguments(call: ast.Call, callee: Frame) -> bool:
    """Whether arguments have names of parameters, and stand for others than these."""
    arguments = getattr(callee.function, "args", None)
    parameters = [it.arg for it in arguments.args] if isinstance(arguments, ast.arguments) else []
    if parameters[:1] == ["self"]:
        parameters = parameters[1:]
    given = [it.id if isinstance(it, ast.Name) else "" for it in call.args]
    return any(
        name in parameters and name != parameter
        for name, parameter in zip(given, parameters, strict=False)
    )


def _swaps_parts(call: ast.Call, callee: Frame) -> bool:
    """Whether a tuple is given whose parts have names that the function gives to others of them."""
    given = [_names(it) for it in (*call.args, *(it.value for it in call.keywords))]
    taken = [_names(it.targets[0]) for it, _ in callee.steps if isinstance(it, ast.Assign)]
    return any(
        len(one) == len(other) and set(one) == set(other) and one != other
        for one in given
        for other in taken
        if one is not None and other is not None
    )


def _names(value: ast.expr | None) -> list[str] | None:
    """The names in a tuple, also those of fields; nothing for what has none."""
    if not isinstance(value, ast.Tuple):
        return None
    return [getattr(it, "id", getattr(it, "attr", "")) for it in value.elts]


def _swapped(taken: list[str], given: list[str]) -> tuple[str, str] | None:
    if len(taken) != len(given) or len(set(given)) != len(given):
        return None
    for number, name in enumerate(taken):
        if len(name) < 3 or name in SIDES or name == given[number] or name not in given:
            continue
        other = taken[given.index(name)]
        # What is returned without a name can only be known by what it is not.
        is_other = other == given[number] if given[number] else other not in given
        if is_other and len(other) > 2 and other not in SIDES:
            return name, other
    return None
