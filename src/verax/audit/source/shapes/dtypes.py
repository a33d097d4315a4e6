"""Element types as strings, and how JAX promotes them by default (64 bits switched off).

A dtype is JAX's name ("float32", "bool"), "key" for typed random keys, or a name with a star for
the weak types of Python's numbers ("int32*", "float32*", "complex64*"). "floating" and "integer"
are of known kind and unknown width; None is unknown.
"""

from __future__ import annotations

from typing import TypeAlias

DType: TypeAlias = str | None

# JAX's lattice of promotions: each type, and the types right above it.
# https://docs.jax.dev/en/latest/type_promotion.html
_ABOVE: dict[str, tuple[str, ...]] = {
    "bool": ("int32*",),
    "int32*": ("uint8", "int8"),
    "uint8": ("int16", "uint16"),
    "uint16": ("int32", "uint32"),
    "uint32": ("int64",),
    "int8": ("int16",),
    "int16": ("int32",),
    "int32": ("int64",),
    "int64": ("float32*",),
    "float32*": ("bfloat16", "float16", "complex64*"),
    "bfloat16": ("float32",),
    "float16": ("float32",),
    "float32": ("complex64",),
    "complex64*": ("complex64",),
    "complex64": (),
}


def _reachable(dtype: str) -> frozenset[str]:
    return frozenset({dtype}).union(*map(_reachable, _ABOVE[dtype]))


_UPWARDS = {dtype: _reachable(dtype) for dtype in _ABOVE}


def _join(a: str, b: str) -> str:
    """The lowest type above both."""
    common = _UPWARDS[a] & _UPWARDS[b]
    lowest = next(dtype for dtype in common if common <= _UPWARDS[dtype])
    # With 64 bits switched off the wide integers are as wide as the others.
    return "int32" if lowest == "int64" else lowest


_PROMOTED = {(a, b): _join(a, b) for a in _ABOVE for b in _ABOVE}

_KINDS = {
    "bool": "bool",
    "key": "key",
    "floating": "floating",
    "integer": "integer",
    **dict.fromkeys(
        "int8 int16 int32 uint8 uint16 uint32 int4 uint4 int2 uint2".split(), "integer"
    ),
    **dict.fromkeys("bfloat16 float16 float32".split(), "floating"),
    "complex64": "complex",
}

# What a name in a program says of the type; "float" is the class. What is 64 bits wide is so only
# in programs that switch it on, which nothing here can tell.
_NAMED = {
    **{name: name for name in _KINDS},
    "bool_": "bool",
    "float": "float32",
    "float_": "floating",
    "int": "int32",
    "int_": "integer",
    "uint": "integer",
    "complex": "complex64",
    "float64": "floating",
    "double": "floating",
    "single": "float32",
    "half": "float16",
    "int64": "integer",
    "uint64": "integer",
    "inexact": "floating",
    "f4": "float32",
    "f2": "float16",
    "i4": "int32",
    "u1": "uint8",
    "b1": "bool",
}


def named(name: object) -> DType:
    """The dtype that a program means by a name, `jnp.float32`, or a class such as `float`."""
    if isinstance(name, type):
        name = name.__name__
    return _NAMED.get(name.rpartition(".")[2]) if isinstance(name, str) else None


def of_literal(value: object) -> DType:
    """The type of a Python number as an operand."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32*"
    if isinstance(value, float):
        return "float32*"
    return "complex64*" if isinstance(value, complex) else None


def strong(dtype: DType) -> DType:
    """The type that an array has which is made of this."""
    return dtype[:-1] if dtype is not None and dtype.endswith("*") else dtype


def is_weak(dtype: DType) -> bool:
    """Whether it gives way to the type of any array of its kind."""
    return dtype is not None and dtype.endswith("*")


def kind(dtype: DType) -> DType:
    """One of "bool", "integer", "floating", "complex" and "key"."""
    return _KINDS.get(dtype.rstrip("*")) if dtype is not None else None


def is_float(dtype: DType) -> bool | None:
    """Whether it is a real floating type; None if that is not known."""
    found = kind(dtype)
    return None if found is None else found == "floating"


def is_integer(dtype: DType) -> bool | None:
    """Whether it is an integer type (bool is none); None if that is not known."""
    found = kind(dtype)
    return None if found is None else found == "integer"


def is_inexact(dtype: DType) -> bool | None:
    """Whether gradients flow through it: real or complex floating."""
    found = kind(dtype)
    return None if found is None else found in ("floating", "complex")


def promote(*dtypes: DType) -> DType:
    """The type of an operation on values of these types."""
    result: DType = "bool"
    for dtype in dtypes:
        if dtype is None or result is None:
            return None
        result = _PROMOTED.get((result, dtype)) or _promote_kinds(result, dtype)
    return result


# Of these kinds the later one wins.
_RANKING = ("bool", "integer", "floating", "complex")


def _promote_kinds(a: str, b: str) -> DType:
    """What is known of a promotion where the width of one is not."""
    first, second = kind(a), kind(b)
    if first not in _RANKING or second not in _RANKING:
        return a if a == b else None
    higher = max(first, second, key=_RANKING.index)
    if first == second:
        return "complex64" if higher == "complex" else higher
    winner = a if first == higher else b
    # A weak float with an integer of any width is still a weak one.
    return "integer" if winner == "int32*" else winner


def inexact(dtype: DType) -> DType:
    """The result of functions like `sqrt`: what is not floating becomes float32."""
    if dtype is None or is_inexact(dtype):
        return dtype
    if kind(dtype) in ("integer", "bool"):
        return "float32*" if is_weak(dtype) else "float32"
    return None


def summed(dtype: DType) -> DType:
    """The type of a sum: narrow integers and booleans are added up as wider ones."""
    found = kind(dtype)
    if found == "bool":
        return "int32"
    if found == "integer" and dtype != "integer" and not is_weak(dtype):
        return "uint32" if dtype is not None and dtype.startswith("u") else "int32"
    return dtype


def real(dtype: DType) -> DType:
    """The type of a real or imaginary part, and of an absolute value."""
    return dtype.replace("complex64", "float32") if dtype is not None else None
