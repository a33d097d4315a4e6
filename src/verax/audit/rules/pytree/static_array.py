"""An array in a part of a class that is static for JAX."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.classes import is_marked_static
from ...source.library.options import constants
from ...source.queries.structures.crossing import crossing
from ...source.queries.structures.registration import is_array_annotation, is_tree
from ...source.queries.structures.round_trips import static_arrays
from ...source.text import text_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Class, Function


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Fields that are annotated as arrays and marked, or registered, as static."""
    for cls in facts.record.classes:
        if cls.frame.module is not facts.module or not is_tree(cls):
            continue
        static = _registered_as_static(cls)
        for name, field in cls.fields.items():
            if not is_array_annotation(field.annotation):
                continue
            if not is_marked_static(field.value) and name not in static:
                continue
            what = f"is an array ({text_of(field.annotation)}), and static"
            yield _found(cls, name, what, cls.frame.place(_said_at(cls, name) or field))
    told: set[tuple[Class, str]] = set()
    for _, _, value, place in crossing(facts):
        for cls, flatten, name in static_arrays(facts, value):
            if (cls, name) not in told and name not in cls.fields:
                told.add((cls, name))
                what = "is an array, and part of the static data that `tree_flatten` gives"
                yield _found(cls, name, what, flatten.frame.place(_return(flatten)), place)


def _found(cls: Class, name: str, what: str, place: Place, used: Place | None = None) -> Finding:
    return RULE.finding(
        place,
        current=f"`{cls.name}.{name}` {what}",
        expected="static fields have a hash and are compared with `==`: numbers, strings, tuples, "
        "functions",
        fix=f"Make `{name}` an ordinary field; to keep it from being trained, use "
        "`jax.lax.stop_gradient` or mask its update.",
        evidence=(Evidence("an object of it is passed on here", used),) if used else (),
        engine=Engine.SOURCE,
    )


def _return(function: Function) -> ast.AST:
    """The statement that says what a function gives."""
    found = [it for it in ast.walk(function.syntax) if isinstance(it, ast.Return)]
    return found[-1] if found else function.syntax


def _said_at(cls: Class, name: str) -> ast.AST | None:
    """Where a registration names a field as static, if it is in the file of the class."""
    fact = cls.registration
    if fact is None or fact.frame.module is not cls.frame.module:
        return None
    for node in ast.walk(fact.syntax):
        if isinstance(node, ast.keyword) and node.arg == "meta_fields":
            words = (it for it in ast.walk(node.value) if isinstance(it, ast.Constant))
            return next((it for it in words if it.value == name), None)
    return None


def _registered_as_static(cls: Class) -> list[object]:
    """The fields that `register_dataclass` was told to be no leaves."""
    fact = cls.registration
    if fact is None or fact.data["name"] != "jax.tree_util.register_dataclass":
        return []
    given = fact.data["args"]
    return constants(given[2] if len(given) > 2 else fact.data["keywords"].get("meta_fields"))


RULE = Rule(
    code="PT106",
    name="static-array",
    title="Array in a static field",
    family="pytree",
    severity=Severity.CRITICAL,
    explanation="""\
A static field is part of a tree's structure: jit looks it up by its hash, and compares it with `==`
at every call. An array has no hash, and its comparison is an array. Where it works by chance, the
array is a constant of the compiled program, and gradients and updates do not see it.
""",
    wrong="""\
import dataclasses
import functools

import jax
import jax.numpy as jnp

@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w"], meta_fields=["mask"]
)
@dataclasses.dataclass
class Layer:
    w: jax.Array
    mask: jax.Array

@jax.jit
def apply(layer, x):
    return x @ (layer.w * layer.mask)

def entry(w, mask, x):
    return apply(Layer(w, mask), x)

def inputs():
    return jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones(3)
""",
    right="""\
import dataclasses
import functools

import jax
import jax.numpy as jnp

@functools.partial(
    jax.tree_util.register_dataclass, data_fields=["w", "mask"], meta_fields=["name"]
)
@dataclasses.dataclass
class Layer:
    w: jax.Array
    mask: jax.Array
    name: str

@jax.jit
def apply(layer, x):
    return x @ (layer.w * layer.mask)

def entry(w, mask, x):
    return apply(Layer(w, mask, "first"), x)

def inputs():
    return jnp.ones((3, 2)), jnp.ones((3, 2)), jnp.ones(3)
""",
    source=check_source,
)
