"""What the table says of a call is what JAX returns, however little is known of the arguments."""

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from verax.audit.source.shapes import Mismatch, Value, symbol
from verax.audit.source.shapes.dtypes import of_literal
from verax.audit.source.shapes.semantics import TABLE
from verax.audit.source.shapes.shape import Partial, Shape
from verax.audit.source.shapes.values import UNKNOWN

from .calling import KEY, A, Call, shown
from .jax_calls import (
    elsewhere_calls,
    lax_calls,
    nn_calls,
    pointwise_calls,
    random_calls,
    window_calls,
)
from .linear_calls import density_calls, linear_calls, signal_calls
from .numpy_calls import numpy_calls
from .product_calls import product_calls
from .truth import fits

CALLS = [
    *numpy_calls(),
    *product_calls(),
    *linear_calls(),
    *signal_calls(),
    *density_calls(),
    *random_calls(),
    *nn_calls(),
    *lax_calls(),
    *window_calls(),
    *pointwise_calls(),
    *elsewhere_calls(),
]

# Of these not all can be known.
VAGUE = {
    "jax.numpy.histogram": "types that depend on much",
    "jax.numpy.histogram_bin_edges": "types that depend on much",
    "jax.numpy.linalg.lstsq": "how much is left depends on the rank",
    "jax.numpy.packbits": "rarely used",
    "jax.numpy.select": "the type of the default",
    "jax.numpy.tril_indices": "how many",
    "jax.numpy.triu_indices": "how many",
    "jax.numpy.tril_indices_from": "how many",
    "jax.numpy.triu_indices_from": "how many",
    "jax.random.key_data": "words of other generators",
}


def resolve(name: str) -> Any:
    if name.startswith("ndarray."):
        return lambda self, *args, **keywords: getattr(self, name[8:])(*args, **keywords)
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute, None)
    except ModuleNotFoundError:
        return None


def installed(calls: list[Call]) -> list[Call]:
    """Those of functions that this release has; `test_table` knows which may be missing."""
    return [made for made in calls if resolve(made[0]) is not None]


def real(argument: Any) -> Any:
    """The argument for JAX: arrays to trace."""
    if isinstance(argument, A):
        return jax.ShapeDtypeStruct(argument.shape, argument.dtype)
    return [real(item) for item in argument] if isinstance(argument, list) else argument


def of_jax(made: Call) -> Any:
    name, args, keywords = made
    function = resolve(name)
    leaves, tree = jax.tree.flatten(
        ([real(argument) for argument in args], real_keywords(keywords))
    )
    traced = [at for at, leaf in enumerate(leaves) if isinstance(leaf, jax.ShapeDtypeStruct)]

    def run(*arrays: Any) -> Any:
        filled = list(leaves)
        for at, array in zip(traced, arrays, strict=True):
            filled[at] = array
        positional, named = jax.tree.unflatten(tree, filled)
        return function(*positional, **named)

    with jax.numpy_rank_promotion("allow"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return jax.eval_shape(run, *(leaves[at] for at in traced))


def real_keywords(keywords: dict[str, Any]) -> dict[str, Any]:
    return {name: real(argument) for name, argument in keywords.items()}


def ours(argument: Any, shape: Callable[[tuple[int, ...]], Shape]) -> Value:
    if isinstance(argument, A):
        return Value(shape(argument.shape), argument.dtype.name)
    if argument is KEY:
        return Value((), "key")
    if isinstance(argument, list):
        return Value(elements=tuple(ours(item, shape) for item in argument))
    if isinstance(argument, tuple):
        return Value(constant=argument)
    return Value((), of_literal(argument), argument)


def result_of(made: Call, shape: Callable[[tuple[int, ...]], Shape]) -> Value:
    name, args, keywords = made
    return TABLE[name](
        [ours(argument, shape) for argument in args],
        {key: ours(argument, shape) for key, argument in keywords.items()},
    )


def dtype_name(leaf: Any) -> str:
    if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return "key"
    return leaf.dtype.name


def agrees(value: Value, expected: Any, numbers: dict[str, Any]) -> bool:
    """Whether nothing wrong is said."""
    if isinstance(expected, (tuple, list)):
        if value.elements is None:
            return value == Value()
        return len(value.elements) == len(expected) and all(
            agrees(each, leaf, numbers) for each, leaf in zip(value.elements, expected, strict=True)
        )
    if value.elements is not None:
        return False
    dtype = value.dtype and value.dtype.rstrip("*")
    return fits(value.shape, expected.shape, numbers) and dtype in (None, dtype_name(expected))


def is_whole(value: Value) -> bool:
    """Whether all is known."""
    if value.elements is not None:
        return all(map(is_whole, value.elements))
    return isinstance(value.shape, tuple) and None not in value.shape and value.dtype is not None


@pytest.mark.parametrize("made", installed(CALLS), ids=shown)
def test_calls(made: Call):
    expected = of_jax(made)
    value = result_of(made, lambda shape: shape)
    assert agrees(value, expected, {}), (value, expected)
    assert is_whole(value) or made[0] in VAGUE, value

    # Sizes from 5 on are symbols; smaller ones are numbers that programs write.
    numbers = {f"n{size}": size for size in range(5, 40)}
    value = result_of(made, lambda shape: tuple(symbol(f"n{d}") if d > 4 else d for d in shape))
    assert agrees(value, expected, numbers), (value, expected)

    # Less and less is known.
    for forget in (
        lambda shape: (None,) * len(shape),
        lambda shape: Partial((), shape[-1:]) if shape else (),
        lambda shape: Partial(shape[:1], ()) if shape else (),
        lambda _: None,
    ):
        value = result_of(made, forget)
        assert agrees(value, expected, {}), (value, expected)

    # Or nothing of an argument.
    name, args, keywords = made
    for hidden in range(1, len(args) + len(keywords)):
        known = [ours(argument, lambda shape: shape) for argument in (*args, *keywords.values())]
        known[hidden] = Value()
        rest = dict(zip(keywords, known[len(args) :], strict=True))
        value = TABLE[name](known[: len(args)], rest)
        assert agrees(value, expected, {}), (hidden, value, expected)


def test_every_function_is_called():
    called = {made[0] for made in CALLS}
    shared = {
        name.replace("ndarray.", "jax.numpy.") for name in TABLE if name.startswith("ndarray")
    }
    ours_alone = {name for name in TABLE if name.startswith(("numpy.", "ndarray."))}
    assert {"jax.numpy.mean"} <= shared
    assert TABLE.keys() - ours_alone - called == NOT_CALLED


# Collectives need an axis, a factor goes with a flag, and these return no arrays.
NOT_CALLED = {
    "jax.scipy.linalg.cho_factor",
    "jax.scipy.linalg.cho_solve",
    "jax.scipy.linalg.lu_solve",
    *("jax.lax.scatter" + kind for kind in ("", "_add", "_sub", "_mul", "_min", "_max")),
    *(
        "jax.lax." + name
        for name in "psum pmax pmin pmean ppermute all_gather with_sharding_constraint".split()
    ),
    *("jax.numpy." + name for name in "broadcast_shapes shape ndim size".split()),
}


def test_a_system_is_solved_by_its_factor():
    matrix, right = Value((symbol("n"), symbol("n")), "float32"), Value((symbol("n"), 1), "float32")
    factor = TABLE["jax.scipy.linalg.cho_factor"]([matrix])
    assert factor.elements is not None
    assert factor.elements[0].shape == matrix.shape
    assert TABLE["jax.scipy.linalg.cho_solve"]([factor, right]).shape == right.shape


def test_shapes_are_constants():
    x = Value((symbol("n"), None, 3), "float32")
    assert TABLE["jax.numpy.shape"]([x]).constant == (symbol("n"), UNKNOWN, 3)
    assert TABLE["jax.numpy.ndim"]([x]).constant == 3
    assert TABLE["jax.numpy.size"]([x]).constant is UNKNOWN
    assert TABLE["jax.numpy.size"]([Value((symbol("n"),))]).constant == symbol("n")
    shapes = [Value(constant=(symbol("n"), 1)), Value(constant=(3,))]
    assert TABLE["jax.numpy.broadcast_shapes"](shapes).constant == (symbol("n"), 3)


def test_failures_are_told():
    x, w = Value((symbol("n"), 4), "float32"), Value((5, 3), "float32")
    with pytest.raises(Mismatch, match="sizes 4 and 5 are contracted with each other"):
        TABLE["operator.matmul"]([x, w])
    with pytest.raises(Mismatch, match="axis 2 does not exist in 2 dimensions"):
        TABLE["jax.numpy.mean"]([x], {"axis": Value((), "int32*", 2)})


NUMPY_CALLS = [
    (made[0].removeprefix("jax."), *made[1:])
    for made in CALLS
    if made[0].startswith("jax.numpy.")
    and made[0].removeprefix("jax.") in TABLE
    # JAX's own keywords, and what a mask of ones has more of than one of zeros.
    and not {"size", "length", "inplace", "total_repeat_length"} & made[2].keys()
]


@pytest.mark.parametrize("made", installed(NUMPY_CALLS), ids=shown)
def test_calls_of_numpy(made: Call):
    name, args, keywords = made
    named = {key: regular(argument) for key, argument in keywords.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = resolve(name)(*map(regular, args), **named)
    value = result_of(made, lambda shape: shape)
    assert shapes_agree(value, expected), (value, expected)


def regular(argument: Any) -> Any:
    """An argument for NumPy: ones, with a diagonal that makes matrices positive definite."""
    if isinstance(argument, A):
        array = np.ones(argument.shape, argument.dtype)
        return array + np.eye(*array.shape[-2:], dtype=array.dtype) if array.ndim > 1 else array
    return [regular(item) for item in argument] if isinstance(argument, list) else argument


def shapes_agree(value: Value, expected: Any) -> bool:
    if value.elements is not None:
        return len(value.elements) == len(expected) and all(
            map(shapes_agree, value.elements, expected)
        )
    if not fits(value.shape, np.shape(expected)):
        return False
    kinds = {"bool": "b", "integer": "iu", "floating": "fV", None: "bcfiuV"}
    return np.asarray(expected).dtype.kind in kinds[value.dtype]


def test_types_of_numpy_are_as_wide_as_it_likes():
    assert TABLE["numpy.mean"]([Value((3,), "int32")]) == Value((), "floating")
    assert TABLE["numpy.arange"]([Value((), "int32*", 3)]) == Value((3,), "integer")
    assert np.arange(3).dtype.kind == "i"
