"""Activations and the other functions of `jax.nn`."""

from __future__ import annotations

from ..axes import insert_axis
from ..dims import floordiv
from ..dtypes import inexact, promote
from ..shape import Mismatch, Shape, change_axis, rank
from ..values import UNKNOWN, Value
from .arguments import Arguments
from .entries import Rule, Table, entries
from .pointwise import inexact_promoted, kept, pointwise
from .reductions import along_last


def _one_hot(args: Arguments) -> Value:
    axis, classes = args.axes("axis", -1), args.size("num_classes")
    dtype = args.dtype("dtype", "float32")
    if type(axis) is not int:
        return Value(None, dtype)
    return Value(insert_axis(args.array.shape, axis, classes), dtype)


def _glu(args: Arguments) -> Value:
    axis, dtype = args.axes("axis", -1), inexact(args.array.dtype)
    if type(axis) is not int:
        return Value(None, dtype)
    shape: Shape = change_axis(args.array.shape, axis, lambda dim: (floordiv(dim, 2),))
    return Value(shape, dtype)


def _attention(args: Arguments) -> Value:
    query = args.array
    dtype = promote(query.dtype, args["key"].dtype, args["value"].dtype)
    if rank(query.shape) not in (None, 3, 4):
        raise Mismatch("attention takes (batch, time, heads, features), the batch is optional")
    if args.flag("return_residual") is not False:
        return Value()
    return Value(query.shape, dtype)


def _softmax(args: Arguments) -> Value:
    axis, dtype = args.axes("axis", -1), inexact(args.array.dtype)
    if axis is UNKNOWN or axis is None:
        return Value(args.array.shape, dtype)
    return along_last(inexact)(args)


def _table() -> Table:
    rows: list[tuple[str, str, Rule]] = [
        (
            "hard_sigmoid hard_silu hard_swish hard_tanh log1mexp log_sigmoid mish relu6 sigmoid "
            "silu soft_sign softplus sparse_plus sparse_sigmoid swish tanh selu",
            "x",
            pointwise(inexact),
        ),
        ("relu identity", "x", pointwise(kept)),
        ("celu elu", "x, alpha", pointwise(inexact)),
        ("gelu", "x, approximate", pointwise(inexact)),
        ("leaky_relu", "x, negative_slope", pointwise(inexact)),
        ("squareplus", "x, b", pointwise(inexact_promoted, 2)),
        ("softmax log_softmax", "x, axis, where", _softmax),
        ("standardize", "x, axis, mean, variance, epsilon, where", pointwise(inexact)),
        ("glu", "x, axis", _glu),
        ("one_hot", "x, num_classes, *, dtype, axis", _one_hot),
        (
            "dot_product_attention",
            "query, key, value, bias, mask, *, scale, is_causal, query_seq_lengths, "
            "key_value_seq_lengths, local_window_size, implementation, return_residual",
            _attention,
        ),
    ]
    table: Table = dict(
        entries("jax.scipy.special", "softmax log_softmax", "x, *, axis", pointwise(inexact))
    )
    for names, signature, rule in rows:
        table.update(entries("jax.nn", names, signature, rule))
    return table


TABLE: Table = _table()
