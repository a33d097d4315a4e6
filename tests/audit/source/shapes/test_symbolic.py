"""What is said of symbolic and partial shapes holds for every shape they stand for."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from verax.audit.source.shapes import axes, contraction, joining, reshaping
from verax.audit.source.shapes.dims import Dim, add, floordiv, minimum, mul, sub, symbol
from verax.audit.source.shapes.indexing import UNKNOWN, Gather, Item, index
from verax.audit.source.shapes.shape import (
    Mismatch,
    OuterProduct,
    Partial,
    Shape,
    broadcast,
    coincidences,
    outer_product,
    reduce,
)
from verax.audit.source.shapes.substitution import substitute

from .test_operations import real_item
from .truth import FAILS, array, axis, fits, of_jax, of_ours

n, m, b, t, f = map(symbol, "nmbtf")

# Symbols are sizes in general: large, and often equal to each other.
numbers = st.fixed_dictionaries({name: st.sampled_from([8, 12, 16]) for name in "nm"})
dims = st.sampled_from([n, m, add(n, 1), sub(n, 1), mul(n, m), mul(n, 2), floordiv(n, 2), 1, 1, 3])
symbolic = st.lists(dims, max_size=3).map(tuple)


Hidden = tuple[Shape, tuple[Any, ...]]


@st.composite
def operands(draw: Callable[..., Any], count: int = 1) -> tuple[list[Hidden], dict[str, Any]]:
    """Shapes of ours, each with one of those it stands for, and the values of symbols there."""
    values = draw(numbers)
    return [draw(hidden(values)) for _ in range(count)], values


@st.composite
def hidden(draw: Callable[..., Any], values: dict[str, Any]) -> Hidden:
    whole = draw(symbolic)
    real = tuple(substitute(dim, values) for dim in whole)
    forgotten = draw(st.sets(st.integers(0, 8)))
    ours: Shape = tuple(None if axis in forgotten else dim for axis, dim in enumerate(whole))
    if draw(st.booleans()):
        lead = draw(st.integers(0, len(real)))
        trail = draw(st.integers(0, len(real) - lead))
        ours = Partial(ours[:lead], ours[len(ours) - trail :]) if lead or trail else None
    return ours, real


def check(ours: Any, expected: Any, values: dict[str, Any]) -> None:
    if ours is FAILS:
        assert expected is FAILS
    elif expected is not FAILS:
        assert fits(ours, expected, values), (ours, expected)


PAIRS = {
    "broadcast": (broadcast, lambda x, y: x + y),
    "matmul": (contraction.matmul, jnp.matmul),
    "dot": (contraction.dot, jnp.dot),
    "inner": (contraction.inner, jnp.inner),
    "vecdot": (contraction.vecdot, jnp.vecdot),
    "outer": (contraction.outer, jnp.outer),
    "vstack": (lambda *xs: joining.vstack(xs), lambda *xs: jnp.vstack(xs)),
    "hstack": (lambda *xs: joining.hstack(xs), lambda *xs: jnp.hstack(xs)),
    "stack": (lambda *xs: joining.stack(xs), lambda *xs: jnp.stack(xs)),
    "concatenate": (lambda *xs: joining.concatenate(xs, -1), lambda *xs: jnp.concatenate(xs, -1)),
    "einsum": (
        lambda *xs: contraction.einsum("i...j,j...->...i", xs),
        lambda *xs: jnp.einsum("i...j,j...->...i", *xs),
    ),
}


@given(operands(2))
@pytest.mark.parametrize("name", PAIRS)
def test_of_two(name: str, drawn: Any):
    ours, theirs = PAIRS[name]
    pair, values = drawn
    expected = of_jax(theirs, *(array(real) for _, real in pair))
    check(of_ours(ours, *(shape for shape, _ in pair)), expected, values)


over = st.none() | axis | st.lists(axis, max_size=2).map(tuple)


@given(operands(), over, st.booleans())
def test_reduce(drawn: Any, over: Any, keepdims: bool):
    [(shape, real)], values = drawn
    expected = of_jax(lambda x: jnp.sum(x, over, keepdims=keepdims), array(real))
    check(of_ours(reduce, shape, over, keepdims), expected, values)


MOVES = {
    "swapaxes": (axes.swapaxes, jnp.swapaxes),
    "moveaxis": (axes.moveaxis, jnp.moveaxis),
    "expand_dims": (lambda x, i, j: axes.expand_dims(x, i), lambda x, i, j: jnp.expand_dims(x, i)),
    "expand_both": (lambda x, *at: axes.expand_dims(x, at), lambda x, *at: jnp.expand_dims(x, at)),
    "squeeze": (lambda x, i, j: axes.squeeze(x, i), lambda x, i, j: jnp.squeeze(x, i)),
    "squeeze_both": (lambda x, *at: axes.squeeze(x, at), lambda x, *at: jnp.squeeze(x, at)),
    "transpose": (lambda x, i, j: axes.transpose(x), lambda x, i, j: jnp.transpose(x)),
    "ordered": (lambda x, *at: axes.transpose(x, at), lambda x, *at: jnp.transpose(x, at)),
    "repeat": (lambda x, i, j: joining.repeat(x, 2, i), lambda x, i, j: jnp.repeat(x, 2, i)),
    "ravel": (lambda x, i, j: reshaping.flatten(x), lambda x, i, j: jnp.ravel(x)),
}


@given(operands(), axis, axis)
@pytest.mark.parametrize("name", MOVES)
def test_moved_axes(name: str, drawn: Any, first: int, second: int):
    [(shape, real)], values = drawn
    ours, theirs = MOVES[name]
    expected = of_jax(lambda x: theirs(x, first, second), array(real))
    check(of_ours(ours, shape, first, second), expected, values)


bounds = st.none() | st.integers(-4, 4)
steps = st.none() | st.sampled_from([-1, 1, 2])
items = st.lists(
    st.integers(-2, 1)
    | st.builds(slice, bounds, bounds, steps)
    | st.none()
    | st.just(...)
    | st.sampled_from([(), (1,), (2, 3)]).map(Gather),
    max_size=4,
).filter(lambda items: items.count(...) < 2)


@given(operands(), items)
def test_index(drawn: Any, items: list[Item]):
    [(shape, real)], values = drawn
    wanted = tuple(map(real_item, items))
    check(of_ours(index, shape, items), of_jax(lambda x: x[wanted], array(real)), values)


@given(dims, dims, dims, numbers)
def test_symbolic_slices(size: Dim, start: Dim, stop: Dim, values: dict[str, Any]):
    real_size, real_start, real_stop = (substitute(dim, values) for dim in (size, start, stop))
    assume(
        isinstance(real_size, int) and isinstance(real_start, int) and isinstance(real_stop, int)
    )
    for ours, real in (
        (slice(stop), slice(real_stop)),
        (slice(mul(stop, -1), None), slice(-real_stop, None)),
        (slice(None, mul(stop, -1)), slice(None, -real_stop)),
    ):
        length = len(range(real_size)[real])
        # A size that would be negative is none in general.
        selected = index((size,), [ours])
        assert isinstance(selected, tuple)
        found = substitute(selected[0], values)
        assert found == length or (type(found) is int and found < 0)


@given(symbolic, st.lists(st.just(-1) | dims, max_size=3), numbers)
def test_reshape(x: tuple[Dim, ...], new: list[Dim], values: dict[str, Any]):
    real = tuple(substitute(dim, values) for dim in x)
    real_new = [substitute(dim, values) for dim in new]
    expected = of_jax(lambda x: jnp.reshape(x, real_new), array(real))  # type: ignore[arg-type]
    check(of_ours(reshaping.reshape, x, new), expected, values)


def test_reshapes_work_out_products():
    assert reshaping.reshape((b, t, f), (-1, f)) == (mul(b, t), f)
    assert reshaping.reshape((mul(b, t), f), (b, t, -1)) == (b, t, f)
    assert reshaping.reshape((mul(b, t), f), (b, -1, f)) == (b, t, f)
    with pytest.raises(Mismatch, match=r"has 2\*n elements"):
        reshaping.reshape((n, 2), (n, 3))


def test_groups_of_a_reshape():
    kinds = lambda old, new: [group.kind for group in reshaping.regroup(old, new) or ()]  # noqa: E731
    assert kinds((b, t, f), (mul(b, t), f)) == ["merged", "kept"]
    assert kinds((mul(b, t), f), (b, t, f)) == ["split", "kept"]
    assert kinds((b, t, f), (b, 1, t, f)) == ["kept", "kept", "kept"]
    assert kinds((b, t, f), (t, b, f)) == ["permuted", "kept"]
    assert kinds((b, t, f), (t, mul(b, f))) == ["crossed"]
    assert kinds((6, 4), (4, 6)) == ["permuted"]
    assert kinds((2, 3, 4), (6, 4)) == ["merged", "kept"]
    assert reshaping.regroup((b, None), (None, b)) is None


def test_a_reshape_that_permutes_is_a_reinterpretation():
    assert reshaping.reinterpretation((b, t, f), (t, b, f)) == ("permuted", (0, 1), (0, 1))
    assert reshaping.reinterpretation((b, t, f), (b, t, f)) is None
    assert reshaping.reinterpretation((b, t, f), (mul(b, t), f)) is None
    assert reshaping.reinterpretation((b, 4, 4), (b, 4, 4)) is None


def test_outer_products_by_accident():
    assert outer_product((n, 1), (n,)) == OuterProduct(n, -2, -1)
    assert outer_product((n,), (n, 1)) == OuterProduct(n, -2, -1)
    assert outer_product((b, n, 1), (n,)) == OuterProduct(n, -2, -1)
    assert outer_product((4, 1), (4,)) == OuterProduct(4, -2, -1)
    for a, other in (
        ((n, 1), (1, n)),
        ((n, 1), (m,)),
        ((1, 1), (1,)),
        ((n, 1), (n, 1)),
        (None, (n,)),
    ):
        assert outer_product(a, other) is None


def test_sizes_that_must_coincide():
    assert coincidences((b, t, 1), (b, t)) == ((t, b),)
    assert coincidences((b, t), (b, t)) == ()


def test_squeezes_that_drop_more_than_meant():
    assert axes.squeeze_note((3, 1)) is None
    assert axes.squeeze_note((1, 3, 1)) == ((0, 2), ())
    assert axes.squeeze_note((b, 1)) == ((1,), (0,))


def test_failures_say_why():
    with pytest.raises(Mismatch) as failure:
        broadcast((n,), (3, sub(n, 1)))
    assert failure.value.reason == "(n,) and (3, n - 1): n - 1 and n do not broadcast"
    with pytest.raises(Mismatch, match="axis 2 does not exist in 2 dimensions"):
        reduce((b, t), 2)


def test_ranks_that_are_partly_known():
    assert index(None, [None]) == Partial((1,), ())
    assert index(None, [..., None]) == Partial((), (1,))
    assert contraction.matmul(None, (n, 1)) == Partial((), (1,))
    assert broadcast(Partial((), (1,)), (n,)) == Partial((), (n,))
    assert axes.squeeze(Partial((), (1,)), -1) is None
    assert index((n, 3), [slice(UNKNOWN, None)]) == (None, 3)
    assert index((n,), [slice(8)]) == (minimum(n, 8),)
