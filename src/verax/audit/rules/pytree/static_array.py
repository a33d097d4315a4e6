"""An array in a part of a class that is static for JAX."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Finding, Severity
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.values import Class


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Fields that are annotated as arrays and marked, or registered, as static."""
    from ...source.queries.registration import is_array_annotation, is_marked_static, is_tree

    for cls in facts.record.classes:
        if cls.frame.module is not facts.module or not is_tree(cls):
            continue
        static = _registered_as_static(cls)
        for name, field in cls.fields.items():
            if not is_array_annotation(field.annotation):
                continue
            if not is_marked_static(field.value) and name not in static:
                continue
            yield RULE.finding(
                cls.frame.place(field),
                current=f"`{cls.name}.{name}` is an array ({ast.unparse(field.annotation)}), and "
                "static",
                expected="static fields have a hash and are compared with `==`: numbers, strings, "
                "tuples, functions",
                fix=f"Make `{name}` an ordinary field; to keep it from being trained, use "
                "`jax.lax.stop_gradient` or mask its update.",
                engine=Engine.SOURCE,
            )


def _registered_as_static(cls: Class) -> list[object]:
    """The fields that `register_dataclass` was told to be no leaves."""
    from ...source.library.options import constants

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
    severity=Severity.ERROR,
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
