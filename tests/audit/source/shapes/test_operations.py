"""Operations on known shapes give what JAX gives, and fail where JAX fails."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.audit.source.shapes import axes, contraction, creation, joining, reshaping, shape
from verax.audit.source.shapes.indexing import (
    Gather,
    Item,
    OutOfBounds,
    dynamic_slice,
    index,
    out_of_bounds,
    take,
    take_along_axis,
    update,
)

from .truth import FAILS, alike, array, axis, of_jax, of_ours, shapes

Known = tuple[int, ...]


def assert_agrees(ours: Any, expected: Any) -> None:
    """We may be silent where JAX fails, but not wrong where it does not."""
    if ours is FAILS:
        assert expected is FAILS
    elif expected is not FAILS:
        assert ours == expected


more = settings(max_examples=2 * settings().max_examples)


@given(st.lists(alike, min_size=1, max_size=3))
def test_broadcast(operands: list[Known]):
    assert of_ours(shape.broadcast, *operands) == of_jax(lambda *xs: sum(xs), *map(array, operands))


@given(alike, alike)
def test_broadcast_to(source: Known, target: Known):
    expected = of_jax(lambda x: jnp.broadcast_to(x, target), array(source))
    assert of_ours(shape.broadcast_to, source, target) == expected


@given(shapes, st.none() | axis | st.lists(axis, max_size=3).map(tuple), st.booleans())
def test_reduce(x: Known, over: Any, keepdims: bool):
    expected = of_jax(lambda x: jnp.sum(x, over, keepdims=keepdims), array(x))
    assert of_ours(shape.reduce, x, over, keepdims) == expected


@given(alike, alike)
@pytest.mark.parametrize("name", ["matmul", "dot", "inner", "vecdot", "outer"])
def test_products(name: str, a: Known, b: Known):
    expected = of_jax(getattr(jnp, name), array(a), array(b))
    assert of_ours(getattr(contraction, name), a, b) == expected


tensordot_axes = st.integers(0, 3) | st.tuples(
    st.lists(axis, max_size=2).map(tuple), st.lists(axis, max_size=2).map(tuple)
)


@more
@given(alike, alike, tensordot_axes)
def test_tensordot(a: Known, b: Known, over: Any):
    expected = of_jax(lambda a, b: jnp.tensordot(a, b, over), array(a), array(b))
    assert of_ours(contraction.tensordot, a, b, over) == expected


terms = st.text("ijk", max_size=3)
subscripts = st.tuples(
    st.lists(
        st.tuples(terms, st.sampled_from(["", "..."]), terms).map("".join), min_size=1, max_size=2
    ),
    st.none() | terms | terms.map(lambda term: "..." + term),
)


@more
@given(subscripts, st.lists(alike, min_size=2, max_size=2))
def test_einsum(subscripts: tuple[list[str], str | None], operands: list[Known]):
    inputs, output = subscripts
    text = ",".join(inputs) + (f"->{output}" if output is not None else "")
    operands = operands[: len(inputs)]
    expected = of_jax(lambda *xs: jnp.einsum(text, *xs), *map(array, operands))
    assert of_ours(contraction.einsum, text, operands) == expected


@given(st.data())
def test_einsum_that_fits(data: st.DataObject):
    sizes = {letter: data.draw(st.integers(0, 3)) for letter in "ijk"}
    inputs = data.draw(st.lists(st.permutations("ijk"), min_size=1, max_size=3))
    letters = [term[: data.draw(st.integers(0, 3))] for term in inputs]
    written = sorted({letter for term in letters for letter in term})
    text = ",".join(map("".join, letters)) + "->" + "".join(data.draw(st.permutations(written)))
    operands = [tuple(sizes[letter] for letter in term) for term in letters]
    expected = of_jax(lambda *xs: jnp.einsum(text, *xs), *map(array, operands))
    assert expected is not FAILS
    assert of_ours(contraction.einsum, text, operands) == expected


@given(shapes, st.none() | st.permutations([0, 1, 2]) | st.lists(axis, max_size=3))
def test_transpose(x: Known, order: list[int] | None):
    expected = of_jax(lambda x: jnp.transpose(x, order), array(x))
    assert of_ours(axes.transpose, x, order) == expected


@given(shapes, axis, axis)
@pytest.mark.parametrize("name", ["swapaxes", "moveaxis"])
def test_moved_axes(name: str, x: Known, first: int, second: int):
    expected = of_jax(lambda x: getattr(jnp, name)(x, first, second), array(x))
    assert of_ours(getattr(axes, name), x, first, second) == expected


several = st.lists(axis, max_size=2).map(tuple)


@given(shapes, several, several)
def test_several_moved_axes(x: Known, source: Known, destination: Known):
    expected = of_jax(lambda x: jnp.moveaxis(x, source, destination), array(x))
    assert of_ours(axes.moveaxis, x, source, destination) == expected


@given(alike, axis | several)
def test_expand_dims(x: Known, at: Any):
    expected = of_jax(lambda x: jnp.expand_dims(x, at), array(x))
    assert of_ours(axes.expand_dims, x, at) == expected


@given(alike, st.none() | axis | several)
def test_squeeze(x: Known, at: Any):
    assert of_ours(axes.squeeze, x, at) == of_jax(lambda x: jnp.squeeze(x, at), array(x))


@given(shapes, axis)
def test_mapped_and_stacked(x: Known, at: int):
    expected = of_jax(lambda x: jax.vmap(lambda row: row, at, at)(x), array(x))
    removed = of_ours(axes.remove_axis, x, at)
    assert (removed is FAILS) == (expected is FAILS)
    if removed is not FAILS:
        assert of_ours(axes.insert_axis, removed, at, x[at]) == x


sizes = st.sampled_from([-1, 0, 1, 2, 3, 4, 6, 12])


@more
@given(shapes, st.lists(sizes, max_size=3).map(tuple))
def test_reshape(x: Known, new: Known):
    assert of_ours(reshaping.reshape, x, new) == of_jax(lambda x: jnp.reshape(x, new), array(x))


@given(st.lists(alike, min_size=1, max_size=3), st.none() | axis)
def test_concatenate(operands: list[Known], at: int | None):
    expected = of_jax(lambda *xs: jnp.concatenate(xs, at), *map(array, operands))
    assert of_ours(joining.concatenate, operands, at) == expected


@given(alike, st.integers(1, 3), axis)
def test_stack(x: Known, count: int, at: int):
    expected = of_jax(lambda *xs: jnp.stack(xs, at), *[array(x)] * count)
    assert of_ours(joining.stack, [x] * count, at) == expected


@given(st.lists(alike, min_size=1, max_size=3))
@pytest.mark.parametrize("name", ["stack", "vstack", "hstack", "dstack", "column_stack"])
def test_stacks(name: str, operands: list[Known]):
    expected = of_jax(lambda *xs: getattr(jnp, name)(xs), *map(array, operands))
    assert of_ours(getattr(joining, name), operands) == expected


sections = st.integers(1, 4) | st.lists(st.integers(-3, 5), max_size=3).map(lambda x: sorted(x))


@given(st.lists(st.integers(0, 8), max_size=3).map(tuple), sections, axis, st.booleans())
def test_split(x: Known, cuts: Any, at: int, exact: bool):
    split = jnp.split if exact else jnp.array_split
    expected = of_jax(lambda x: tuple(split(x, cuts, at)), array(x))
    # Releases differ in whether a cut may lie behind the end.
    assert_agrees(of_ours(joining.split, x, cuts, at, exact), expected)


@given(shapes, st.integers(0, 3) | st.lists(st.integers(0, 3), max_size=4).map(tuple))
def test_tile(x: Known, reps: Any):
    assert of_ours(joining.tile, x, reps) == of_jax(lambda x: jnp.tile(x, reps), array(x))


@given(shapes, st.integers(0, 3), st.none() | axis)
def test_repeat(x: Known, repeats: int, at: int | None):
    expected = of_jax(lambda x: jnp.repeat(x, repeats, at), array(x))
    assert of_ours(joining.repeat, x, repeats, at) == expected


widths = st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 2)), min_size=1, max_size=3)


@given(alike, widths)
def test_pad(x: Known, widths: list[tuple[int, int]]):
    assert of_ours(joining.pad, x, widths) == of_jax(lambda x: jnp.pad(x, widths), array(x))


bounds = st.none() | st.integers(-5, 5)
slices = st.builds(slice, bounds, bounds, st.none() | st.sampled_from([-2, -1, 1, 2, 3]))
gathers = alike.map(Gather)
masks = alike.filter(bool).map(lambda shape: Gather(shape, mask=True))
items = st.lists(st.integers(-2, 1) | slices | st.none() | st.just(...) | gathers, max_size=4)


def real_item(item: Item) -> Any:
    if isinstance(item, Gather):
        assert isinstance(item.shape, tuple)
        return np.ones(item.shape, bool) if item.mask else np.zeros(item.shape, np.int32)
    return item


@settings(max_examples=4 * settings().max_examples)
@given(shapes, items.filter(lambda items: items.count(...) < 2))
def test_index(x: Known, items: list[Item]):
    wanted = tuple(map(real_item, items))
    ours, expected = of_ours(index, x, items), of_jax(lambda x: x[wanted], array(x))
    if 0 in x:
        assert_agrees(ours, expected)
    else:
        assert ours == expected


@more
@given(alike, st.lists(st.integers(-1, 0) | slices | masks | gathers, max_size=3))
def test_masks(x: Known, items: list[Item]):
    wanted = tuple(map(real_item, items))
    expected, ours = of_jax(lambda x: x[wanted], array(x)), of_ours(index, x, items)
    if expected is FAILS or ours is FAILS:
        # How many elements a mask has is not known, hence nor whether others fit.
        assert ours is not FAILS or expected is FAILS
    else:
        assert len(ours) == len(expected)
        assert all(dim in (None, real) for dim, real in zip(ours, expected, strict=True))


@given(alike, items.filter(lambda items: items.count(...) < 2), alike)
def test_update(x: Known, items: list[Item], value: Known):
    wanted = tuple(map(real_item, items))
    expected = of_jax(lambda x, v: x.at[wanted].set(v), array(x), array(value))
    assert of_ours(update, x, items, value) == expected


@given(shapes, alike, st.none() | axis)
def test_take(x: Known, indices: Known, at: int | None):
    expected = of_jax(lambda x, i: jnp.take(x, i, at), array(x), array(indices, np.int32))
    # Nothing can be taken from an empty array; how many axes are empty is rarely known.
    assert_agrees(of_ours(take, x, indices, at), expected)


@given(alike, alike, axis)
def test_take_along_axis(x: Known, indices: Known, at: int):
    real = array(indices, np.int32)
    expected = of_jax(lambda x, i: jnp.take_along_axis(x, i, at), array(x), real)
    assert of_ours(take_along_axis, x, indices, at) == expected


@given(alike, alike)
def test_dynamic_slice(x: Known, sizes: Known):
    expected = of_jax(lambda x: jax.lax.dynamic_slice(x, [0] * x.ndim, sizes), array(x))
    assert of_ours(dynamic_slice, x, sizes) == expected


numbers = st.integers(-5, 9) | st.sampled_from([0.5, 2.5, -1.0, 0.1])


@given(numbers, st.none() | numbers, st.none() | numbers)
def test_arange(start: float, stop: float | None, step: float | None):
    expected = of_jax(lambda: jnp.arange(start, stop, step))
    # JAX 0.8 fails where nothing is between the numbers.
    assert_agrees(of_ours(creation.arange, start, stop, step), expected)


@given(alike, st.integers(-4, 4))
def test_diag(x: Known, offset: int):
    assert of_ours(creation.diag, x, offset) == of_jax(lambda x: jnp.diag(x, offset), array(x))


def test_integers_beyond_an_axis_are_reported():
    assert out_of_bounds((2, 3), [0, 3]) == OutOfBounds(3, 1, 3)
    assert out_of_bounds((2, 3), [..., -4]) == OutOfBounds(-4, 1, 3)
    assert out_of_bounds((2, 3), [-2, 2]) is None
    assert out_of_bounds((None, 3), [7]) is None
