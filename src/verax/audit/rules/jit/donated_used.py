"""An array that is used after its memory was given away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Applied
from ...source.queries.aliases import other_names
from ...source.queries.arguments import donated_positions, ordinary_arguments
from ...source.queries.flow import next_use, sets
from ...source.queries.forwarding import taken_at
from ...source.queries.lost.kept_over_turns import kept_over_turns
from ...source.queries.origins import argument_of
from ...source.queries.syntax import body_of, statement_around
from ...source.text import text_of
from ...source.values import leaves, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Frame
    from ...source.graph import Node
    from ...source.values import Value


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Names that are donated in a call, or hold what is, and read after it."""
    for applied in facts.events(Applied):
        is_decorator = applied.syntax is applied.transformed.syntax
        if applied.transformed.kind != "jit" or applied.frame.is_staged or is_decorator:
            continue
        yield from _given_twice(applied)
        frame, call = taken_at(applied.frame, applied.syntax)
        statement = statement_around(frame, call)
        if statement is None or isinstance(statement, ast.Return):
            continue
        for name, syntax, value in _donated(applied):
            if frame is not applied.frame:
                yield from _handed_on(applied, frame, statement, name, syntax, value)
                continue
            text = text_of(syntax)
            for alias in (text, *other_names(applied, statement, value)):
                if sets(statement, alias):
                    continue
                used = next_use(body_of(frame), statement, alias)
                if used is not None:
                    yield _found(applied, frame, name, text, alias, used)
                    break
            if sets(statement, text):
                for keeper, kept in kept_over_turns(applied, text, value):
                    yield _kept(applied, name, keeper, kept)


def _handed_on(
    applied: Applied,
    frame: Frame,
    statement: ast.stmt,
    name: str,
    donated: ast.expr,
    value: Value,
) -> Iterator[Finding]:
    """What a function donates that only hands on what it is given, to one that reads it again."""
    scope = applied.frame
    while scope is not frame:
        name_here = donated.id if isinstance(donated, ast.Name) else ""
        is_own = name_here in scope.given and nodes_of(scope.given[name_here]) == nodes_of(value)
        given = argument_of(scope, name_here) if is_own else None
        if given is None or not isinstance(given[1], (ast.Name, ast.Attribute)):
            return
        scope, donated = given
    text = text_of(donated)
    used = next_use(body_of(frame), statement, text) if not sets(statement, text) else None
    if used is not None:
        yield _found(applied, frame, name, text, text, used)


def _found(
    applied: Applied, frame: Frame, name: str, text: str, alias: str, used: ast.AST
) -> Finding:
    place = frame.place(used)
    call = next(at for it, at in applied.frame.calls_to(applied.syntax) if it is frame)
    taken = frame.place(call)
    again = "in the next turn" if place.line <= taken.line else "here"
    what = f"`{alias}`" if alias == text else f"`{alias}`, which is of `{text}`,"
    fix = (
        f"Assign the result of the call to `{text}`"
        if alias == text
        else f"Make `{alias}` a copy before the call"
    )
    return RULE.finding(
        place,
        current=f"{what} is used {again} after the call at {taken.line_from(place)} "
        f"took its memory: it is donated as `{name}`",
        expected="what is donated is not used again",
        fix=f"{fix}, or leave `{name}` out of `donate_argnums`.",
        evidence=(Evidence(f"`{text}` is donated here", applied.place),),
        engine=Engine.SOURCE,
    )


def _kept(applied: Applied, name: str, keeper: str, kept: ast.expr) -> Finding:
    place = applied.frame.place(kept)
    return RULE.finding(
        place,
        current=f"`{keeper}` keeps `{text_of(kept)}` for after the loop, and in the next turn the "
        f"call at {applied.place.line_from(place)} takes its memory: it is donated as `{name}`",
        expected="what is donated is not used again",
        fix=f"Keep a copy: `jax.tree.map(jnp.copy, {text_of(kept)})`, or leave `{name}` out of "
        "`donate_argnums`.",
        evidence=(Evidence(f"`{name}` is donated here", applied.place),),
        engine=Engine.SOURCE,
    )


def _given_twice(applied: Applied) -> Iterator[Finding]:
    """An array whose memory is given away, and which the call gets a second time."""
    donated = set(donated_positions(applied.transformed).values())
    seen: dict[Node, str] = {}
    for name, value in ordinary_arguments(applied) if donated else ():
        for leaf in leaves(value):
            node = _before_the_loop(leaf.node)
            other = seen.setdefault(node, name)
            if other == name or donated.isdisjoint((name, other)) or not leaf.is_array:
                continue
            yield RULE.finding(
                applied.place,
                current=f"`{applied.text}` gets the same array as `{other}` and as `{name}`, and "
                f"takes its memory: `{other if other in donated else name}` is donated",
                expected="what is donated is given once",
                fix="Copy it first: `jax.tree.map` of `jnp.copy`.",
                engine=Engine.SOURCE,
            )
            return


def _before_the_loop(node: Node) -> Node:
    """What a value is in the first turn of the loops around it."""
    while node.operation == "turn" and node.inputs:
        node = node.inputs[0]
    return node


def _donated(applied: Applied) -> Iterator[tuple[str, ast.Name | ast.Attribute, Value]]:
    """The donated arguments of a call that are written as names, with their values."""
    call = applied.syntax
    if not isinstance(call, ast.Call) or any(isinstance(it, ast.Starred) for it in call.args):
        return
    positions = donated_positions(applied.transformed)
    offset = len(applied.args) - len(call.args)
    for number, argument in enumerate(call.args):
        if isinstance(argument, (ast.Name, ast.Attribute)) and number + offset in positions:
            yield str(positions[number + offset]), argument, applied.args[number + offset]
    for keyword in call.keywords:
        name = keyword.arg
        if name in positions and isinstance(keyword.value, (ast.Name, ast.Attribute)):
            yield str(name), keyword.value, applied.keywords[str(name)]


RULE = Rule(
    code="JT106",
    name="donated-used",
    title="Donated array used again",
    family="jit",
    severity=Severity.ERROR,
    while_tracing=False,
    explanation="""\
With `donate_argnums` a jitted function may write its results into the memory of its arguments. The
array outside is deleted by the call: using it again raises. Its shape and dtype stay known.
""",
    wrong="""\
import functools

import jax
import jax.numpy as jnp

@functools.partial(jax.jit, donate_argnums=0)
def step(w, g):
    return w - 0.1 * g

def entry(w, g):
    w = w + 0.0
    new = step(w, g)
    return new, jnp.linalg.norm(new - w)

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    right="""\
import functools

import jax
import jax.numpy as jnp

@functools.partial(jax.jit, donate_argnums=0)
def step(w, g):
    return w - 0.1 * g

def entry(w, g):
    w = w + 0.0
    w = step(w, g)
    return w, jnp.linalg.norm(w)

def inputs():
    return jnp.ones(3), jnp.ones(3)
""",
    source=check_source,
)
