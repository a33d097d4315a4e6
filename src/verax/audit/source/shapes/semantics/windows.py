"""Convolutions and pooling: what a window that slides over an array leaves."""

from __future__ import annotations

from ..creation import window_count
from ..dims import Dim, add, floordiv
from ..dtypes import promote
from ..shape import Shape, known
from ..values import Value
from .arguments import Arguments, constant_of
from .entries import Rule, Table, entries
from .rearranging import same_type


def _pooled(args: Arguments) -> Shape:
    shape, window = known(args.array.shape), known(args.sizes("window_dimensions"))
    if shape is None or window is None or len(shape) != len(window):
        return None
    return _slid(args, shape, window, ("base_dilation", "window_dilation"))


def _convolved(args: Arguments) -> Value:
    """Batch and channels are where `dimension_numbers` says, the axes of space around them."""
    lhs, rhs = known(args["lhs"].shape), known(args["rhs"].shape)
    dtype = promote(args["lhs"].dtype, args["rhs"].dtype)
    if lhs is None or rhs is None or len(lhs) != len(rhs):
        return Value(None, dtype)
    layout = _layout(args, len(lhs))
    if layout is None:
        return Value((None,) * len(lhs), dtype)
    image, kernel, result = layout
    space = [letter for letter in image if letter not in "NC"]
    slid = _slid(
        args,
        tuple(lhs[image.index(it)] for it in space),
        tuple(rhs[kernel.index(it)] for it in space),
        ("lhs_dilation", "rhs_dilation"),
    )
    sizes = dict(zip(space, slid, strict=True))
    sizes["N"], sizes["C"] = lhs[image.index("N")], rhs[kernel.index("O")]
    return Value(tuple(sizes[it] for it in result), dtype)


def _layout(args: Arguments, count: int) -> tuple[str, str, str] | None:
    """The letters of the axes of image, kernel and result; `None` if they are not known."""
    if not args.given("dimension_numbers"):
        space = "HWD"[: count - 2]
        return (f"NC{space}", f"OI{space}", f"NC{space}") if count <= 5 else None
    match constant_of(args["dimension_numbers"]):
        case (str(image), str(kernel), str(result)):
            space = sorted(set(image) - set("NC"))
            letters = [sorted("NC" + "".join(space)), sorted("IO" + "".join(space))]
            is_sound = [sorted(it) for it in (image, kernel, result)] == [*letters, letters[0]]
            return (image, kernel, result) if is_sound and len(image) == count else None
        case _:
            return None


def _slid(
    args: Arguments, shape: tuple[Dim, ...], window: tuple[Dim, ...], dilations: tuple[str, ...]
) -> tuple[Dim, ...]:
    """How often a window fits on each axis."""
    is_given = args.given("window_strides")
    steps = known(args.sizes("window_strides")) if is_given else (1,) * len(shape)
    if steps is None or len(steps) != len(shape) or any(map(args.given, dilations)):
        return (None,) * len(shape)
    match args.constant("padding"):
        case "SAME":
            return tuple(
                floordiv(add(size, add(step, -1)), step)
                for size, step in zip(shape, steps, strict=True)
            )
        case "VALID":
            return tuple(map(window_count, shape, window, steps))
        case _:
            return (None,) * len(shape)


def _table() -> Table:
    plain = "lhs, rhs, window_strides, padding"
    convolved = f"{plain}, lhs_dilation, rhs_dilation"
    rows: list[tuple[str, str, Rule]] = [
        ("conv_general_dilated", f"{convolved}, dimension_numbers", _convolved),
        ("conv_with_general_padding", convolved, _convolved),
        ("conv", plain, _convolved),
        (
            "reduce_window",
            "operand, init_value, computation, window_dimensions, window_strides, padding, "
            "base_dilation, window_dilation",
            same_type(_pooled),
        ),
    ]
    table: Table = {}
    for names, signature, rule in rows:
        table.update(entries("jax.lax", names, signature, rule))
    return table


TABLE: Table = _table()
