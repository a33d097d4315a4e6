"""Methods and attributes of arrays: the functions of `jax.numpy` with `self` in first place."""

from __future__ import annotations

from dataclasses import replace

from ..dtypes import real, strong
from ..reshaping import flatten
from ..values import Value
from .arguments import Arguments
from .entries import Table, function
from .pointwise import pointwise
from .rearranging import same_type, unchanged

SHARED = """
    all any argmax argmin argpartition argsort choose clip compress conj conjugate cumprod cumsum
    diagonal dot max mean min nonzero prod ptp ravel repeat round searchsorted sort squeeze std sum
    swapaxes take trace var
"""


def methods(functions: Table) -> Table:
    """The methods, given the functions they are the same as."""
    table: Table = {}
    for name in SHARED.split():
        shared = functions[f"jax.numpy.{name}"]
        table[f"ndarray.{name}"] = replace(shared, parameters=("self", *shared.parameters[1:]))
    # Here the array is the second of the function's arguments.
    table["ndarray.compress"] = function(
        "self, condition, axis, *, out, size, fill_value", _compress
    )
    flat = same_type(lambda args: flatten(args.array.shape))
    table["ndarray.flatten"] = function("self, order, *, out_sharding", flat)
    table["ndarray.copy"] = function("self", unchanged)
    table["ndarray.block_until_ready"] = function("self", unchanged)
    table["ndarray.item"] = function("self, *args", _item)
    table["ndarray.real"] = table["ndarray.imag"] = function("self", pointwise(real))
    return table


def _compress(args: Arguments) -> Value:
    if args.given("axis"):
        return Value(None, args.array.dtype)
    return Value((args.size("size"),), args.array.dtype)


def _item(args: Arguments) -> Value:
    return Value((), strong(args.array.dtype))
