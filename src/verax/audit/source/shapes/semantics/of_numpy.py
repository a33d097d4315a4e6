"""NumPy's own functions: JAX's shapes, and types that are as wide as NumPy likes."""

from __future__ import annotations

from ..dtypes import kind
from ..values import Value
from .arguments import Arguments, ArrayFunction
from .entries import Table

# What NumPy lacks, or means otherwise.
_OTHERWISE = frozenset(
    """
    cross cumulative_prod cumulative_sum fill_diagonal place put put_along_axis
    squeeze trapezoid unstack astype matvec vecmat
    """.split()
)

_PARAMETERS = {
    "zeros_like": ("a", "dtype", "order", "subok", "shape"),
    "ones_like": ("a", "dtype", "order", "subok", "shape"),
    "empty_like": ("prototype", "dtype", "order", "subok", "shape"),
    "full_like": ("a", "fill_value", "dtype", "order", "subok", "shape"),
    "histogram": ("a", "bins", "range", "density", "weights"),
    "clip": ("a", "a_min", "a_max", "out"),
}


def of_numpy(functions: Table) -> Table:
    """The functions that NumPy has too, under its names."""
    table: Table = {}
    for name, function in functions.items():
        module, _, short = name.partition("jax.numpy.")
        if not module and short and short not in _OTHERWISE:
            table[f"numpy.{short}"] = _widened(
                function, _PARAMETERS.get(short, function.parameters)
            )
    return table


def _widened(function: ArrayFunction, parameters: tuple[str, ...]) -> ArrayFunction:
    def result(args: Arguments) -> Value:
        return _loosen(function.result(args))

    return ArrayFunction(parameters, result, function.keywords, function.rest)


def _loosen(value: Value) -> Value:
    elements = value.elements
    if elements is not None:
        elements = tuple(map(_loosen, elements))
    dtype = kind(value.dtype)
    return value._replace(dtype=None if dtype == "complex" else dtype, elements=elements)
