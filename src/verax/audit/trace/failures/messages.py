"""What the messages of JAX mean, and the facts in them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import jax


@dataclass(frozen=True)
class Pattern:
    """Messages that mean one thing: kinds of exception, and what their text contains."""

    kind: str
    text: str
    errors: tuple[type[BaseException], ...] = (Exception,)


_BOOLEAN = (jax.errors.TracerBoolConversionError,)

# The first that fits decides. Groups with a name are the facts of a failure.
PATTERNS: tuple[Pattern, ...] = (
    Pattern("condition", r"traced array with shape (?P<type>\S+\])", _BOOLEAN),
    Pattern("mask", r"indices must be concrete; got (?P<type>\S+\])"),
    Pattern(
        "mask",
        r"(size argument of (?P<function>jnp\.\w+) must be statically|argument of "
        r"(?P<other>jnp\.\w+)\(\).*size argument)",
    ),
    Pattern("size", r"Shapes must be 1D sequences of concrete values"),
    Pattern("size", r"(Slice entries must be static|slice indices must have static)"),
    Pattern("python value", r"arose with the `(?P<function>\w+)` function"),
    Pattern(
        "python value",
        r"(?P<function>__index__)\(\) method was called on traced array with shape (?P<type>\S+\])",
    ),
    Pattern(
        "python value",
        r"(?P<function>__array__)\(\) was called on traced array with shape (?P<type>\S+\])",
    ),
    Pattern(
        "python value",
        r"Abstract tracer value encountered where concrete value is expected: traced "
        r"array with shape (?P<type>\S+\])",
    ),
    Pattern("python value", r"(?P<function>format) string passed to \w*Tracer"),
    Pattern("static argument", r"Non-hashable static arguments.*of type <class '(?P<cls>[^']+)'>"),
    Pattern("dict key", r"unhashable type: '(\w*Tracer|ArrayImpl)'", (TypeError,)),
    Pattern("written in place", r"JAX arrays are immutable", (TypeError,)),
    Pattern(
        "carry",
        r"(?P<loop>scan|while_loop|fori_loop) body function carry input and carry output must have",
    ),
    Pattern("not a pair", r"scan body output must be a pair, got (?P<got>.+)\."),
    Pattern(
        "lengths",
        r"scan got (values with different leading axis sizes: (?P<sizes>[\d, ]+)|`length` "
        r"argument of (?P<length>\d+) which disagrees with leading axis sizes "
        r"\[(?P<leading>[\d, ]+)\])",
    ),
    Pattern(
        "loop condition",
        r"cond_fun must return a boolean scalar, but got.*?(?P<type>\w+\[[\d,]*\])",
    ),
    Pattern("branches", r"branch(es| outputs)? must have"),
    Pattern("branch condition", r"Pred must be a scalar, got .* of shape (?P<shape>\([\d, ]*\))"),
    Pattern("axis name", r"unbound axis name:? (?P<name>\w+)"),
    Pattern("mapped sizes", r"(?P<function>vmap|pmap) got inconsistent sizes for array axes"),
    Pattern(
        "mapped sizes",
        r"(?P<function>vmap|pmap) was requested to map its argument along axis "
        r"(?P<axis>-?\d+).*its shape is (?P<shape>\([\d, ]*\))",
    ),
    Pattern("in_axes", r"(?P<function>vmap|pmap) (in_axes|must have at least one non-None)"),
    Pattern(
        "out_axes",
        r"(got axis spec None but output was batched|mapped output, but its out_axes says "
        r"None|(?P<function>vmap|pmap) out_axes)",
    ),
    Pattern(
        "devices",
        r"(requires (?P<needed>\d+) logical devices, but only (?P<there>\d+)|requires "
        r"(?P<replicas>\d+) replicas, but only (?P<local>\d+))",
    ),
    Pattern(
        "class",
        r"(problematic value is of type <class '(?P<cls>[^']+)'> and was passed to the "
        r"function at path (?P<path>\S+?)\.(\n|$))",
    ),
    Pattern("class", r"returned a value of type <class '(?P<cls>[^']+)'>.*not a valid JAX type"),
    Pattern("class", r"of type '?<class '(?P<cls>[^']+)'>'? is not a valid JAX type"),
    Pattern("class", r"value of type <class '(?P<cls>[^']+)'> as an abstract array"),
    Pattern(
        "not an array",
        r"(?P<function>\w+) requires ndarray or scalar arguments, got <class "
        r"'(?P<cls>[^']+)'> at position (?P<position>\d+)",
    ),
    Pattern(
        "not an array",
        r"Value .* with dtype (?P<cls>object|<U\d+|\S+) is not a valid JAX array type",
    ),
    Pattern(
        "vector loss",
        r"Gradient only defined for scalar-output functions\. Output had shape: "
        r"(?P<shape>\([\d, ]*\))",
    ),
    Pattern(
        "tuple loss", r"Gradient only defined for scalar-output functions\. Output was (?P<got>.+)"
    ),
    Pattern("integer loss", r"grad requires real-valued outputs.*but got (?P<dtype>\w+)"),
    Pattern("integer argument", r"requires real- or complex-valued inputs.*but got (?P<dtype>\w+)"),
    Pattern(
        "auxiliary",
        r"(expected function with aux output to return|with has_aux=True the "
        r"differentiated function must)",
    ),
    Pattern(
        "argnums",
        r"differentiating with respect to argnums=(?P<argnums>\S+) requires at least "
        r"(?P<needed>\d+) positional arguments",
    ),
    Pattern("custom rule", r"Custom (?P<which>VJP|JVP)( (?P<part>bwd|fwd))? rule"),
    Pattern("leaked", r"", (jax.errors.UnexpectedTracerError,)),
    Pattern(
        "tree structure",
        r"(pytree structure error|Dict key mismatch|Tuple arity mismatch|List arity "
        r"mismatch|Expected .*, got|Custom node type mismatch)",
        (ValueError,),
    ),
    Pattern(
        "shapes",
        r"requires contracting dimensions to have the same shape, got (?P<left>\([\d, "
        r"]*\)) and (?P<right>\([\d, ]*\))",
    ),
    Pattern(
        "shapes",
        r"([Ii]ncompatible (shapes|types) for broadcasting|Cannot concatenate|cannot "
        r"reshape|must have the same shape|out of bounds for array of dimension|squeeze "
        r"out which has size|does not match previous terms|Too many indices|mismatch in "
        r"its core dimension|iteration over a 0-d array|dimension|shape)",
    ),
)


def recognised(error: BaseException, text: str) -> tuple[str, dict[str, str]]:
    """The kind of an error, and its facts by name."""
    for pattern in PATTERNS:
        if isinstance(error, pattern.errors):
            found = re.search(pattern.text, text, re.DOTALL if "\n" not in pattern.text else 0)
            if found:
                facts = {name: it for name, it in found.groupdict().items() if it is not None}
                return pattern.kind, facts
    return "error", {}
