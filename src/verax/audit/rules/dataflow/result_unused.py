"""A call without side effects whose result nobody takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Edit, Engine, Finding, Severity
from ...source.edits import replaced
from ...source.queries.lost.dropped_states import dropped_versions
from ...source.queries.syntax import call_statements, handlers_around, holds, statements_in
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call, Event
    from ...source.facts import SourceFacts

_PURE = ("jax.numpy.", "jax.nn.", "jax.random.", "jax.scipy.", "ndarray.at[].")
_PURE_FUNCTIONS = frozenset(
    "optax.apply_updates dataclasses.replace tuple._replace jax.lax.stop_gradient "
    "jax.lax.dynamic_update_slice jax.lax.dynamic_slice jax.lax.clamp".split()
)
_APPLY_GRADIENTS = ".apply_gradients"  # of a state that holds an optimiser
# Methods whose keywords tell what they are methods of.
_BY_KEYWORDS = (_APPLY_GRADIENTS, ".replace", "._replace")
# They are called for the error that they raise, or for what they write.
_FOR_EFFECT = frozenset(
    "save savez savez_compressed set_printoptions broadcast_shapes result_type promote_types "
    "array_repr array_str printoptions bool_ shape ndim size store".split()
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Statements that are such a call, inside of a function."""
    for event, name in dropped_versions(facts):
        if _is_dropped(event):
            yield _finding(event, name)
    pure = [name for name in facts.calls_by_name if _may_be_pure(name)]
    for call in facts.calls(pure):
        if _is_pure(call) and _is_dropped(call):
            yield _finding(call, _target(call))


def _finding(event: Event, target: str) -> Finding:
    return RULE.finding(
        event.place,
        current=f"`{_shown(event)}` returns a new value, and nothing takes it",
        expected="the result is assigned, returned, or passed on",
        fix=f"Assign it{f' to `{target}`' * bool(target)}; arrays and states are never changed in "
        "place.",
        engine=Engine.SOURCE,
        edit=_assigned(event),
    )


def _assigned(event: Event) -> Edit | None:
    """The edit that assigns an update by index to the name of its array."""
    match event.syntax:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Subscript(value=ast.Attribute(value=ast.Name() as array, attr="at"))
            )
        ):
            return replaced(event.frame, event.syntax, "{} = {}", array, event.syntax)
        case _:
            return None


def _may_be_pure(name: str) -> bool:
    if name.rpartition(".")[2] in _FOR_EFFECT:
        return False
    return name.startswith(_PURE) or name in _PURE_FUNCTIONS or name.endswith(_BY_KEYWORDS)


def _is_pure(call: Call) -> bool:
    if call.name in _PURE_FUNCTIONS or not call.name.endswith(_BY_KEYWORDS):
        return not _is_of_object(call)
    if call.name.endswith(_APPLY_GRADIENTS):
        return "grads" in call.keywords
    # `state.replace(step=...)`: fields of an object, which texts, paths and tables have not.
    given = call.keywords.keys()
    written = call.syntax.keywords if isinstance(call.syntax, ast.Call) else []
    return len(call.args) == 1 and bool(written) and "inplace" not in given


def _is_of_object(call: Call) -> bool:
    """Whether a function of JAX's is the last thing that a layer does: it makes parameters too."""
    called = call.syntax.func if isinstance(call.syntax, ast.Call) else None
    owner = called.value if isinstance(called, ast.Attribute) else None
    is_own = isinstance(owner, ast.Name) and owner.id == "self"
    return is_own and call.name.startswith("jax.")


def _is_dropped(call: Event) -> bool:
    frame = call.frame
    function = frame.function
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    statement = call_statements(function).get(call.syntax)
    if statement is None:
        return False
    # A test may call a function only to see that it does not fail, or that it does.
    if function.name.lower().startswith(("test", "bench", "warm")):
        return False
    if any(handlers_around(frame, call.syntax)):
        return False
    return not any(
        isinstance(it, (ast.With, ast.AsyncWith)) and holds(it, statement)
        for it in statements_in(function)
    )


def _shown(call: Event) -> str:
    text = call.text
    return text if len(text) <= 60 else text[:57] + "..."


def _target(call: Call) -> str:
    """A name for the result: that of the value which it is a new version of, if it has one."""
    syntax = call.syntax
    if isinstance(syntax, ast.Call):
        if isinstance(syntax.func, ast.Attribute):
            base = syntax.func.value
            while isinstance(base, (ast.Subscript, ast.Attribute)):
                base = base.value
            if isinstance(base, ast.Name) and not call.name.startswith(("jax.", "optax.")):
                return base.id
        if syntax.args and isinstance(syntax.args[0], ast.Name):
            return syntax.args[0].id
    return ""


RULE = Rule(
    code="DF104",
    name="result-unused",
    title="The result of a function without side effects is not used",
    family="dataflow",
    severity=Severity.CRITICAL,
    proven=True,
    explanation="""\
JAX's arrays are never changed in place: `x.at[i].set(v)`, `jnp.clip(x, 0, 1)` and
`state.replace(...)` return a new value. As a statement of its own, such a call does nothing.

Calls inside of `try`, `with` and tests are left alone, since they may be there to raise.
""",
    wrong="""\
import jax.numpy as jnp

def entry(x, limit):
    x.at[0].set(0.0)
    return jnp.minimum(x, limit)

def inputs():
    return jnp.ones(3), jnp.float32(2.0)
""",
    right="""\
import jax.numpy as jnp

def entry(x, limit):
    x = x.at[0].set(0.0)
    return jnp.minimum(x, limit)

def inputs():
    return jnp.ones(3), jnp.float32(2.0)
""",
    source=check_source,
)
