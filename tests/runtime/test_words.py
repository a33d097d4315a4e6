"""Words: what goes in comes out, bit for bit, for every dtype and shape."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.runtime.words import pack, places_of, unpack

NARROW = [
    *("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32"),
    *("float16", "bfloat16", "float32", "complex64"),
    *("float8_e4m3fn", "float8_e5m2", "int4", "uint4"),
]
WIDE = ["int64", "uint64", "float64", "complex128"]
SHAPES = [(), (0,), (3,), (2, 2), (17,)]


def bits_of(array):
    """The bits of an array, so that NaN equals itself and -0 differs from 0."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def assert_same(actual, expected):
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(bits_of(actual), bits_of(expected))


def example(dtype, shape, seed=0):
    """Random bits; small numbers where not all bits are values, or not all values are kept."""
    random = np.random.default_rng(seed)
    dtype = jnp.dtype(dtype)
    if dtype.kind == "c":
        return (random.integers(-8, 8, shape) + 1j * random.integers(-8, 8, shape)).astype(dtype)
    if dtype.kind == "b" or dtype.name in ("int4", "uint4"):
        return np.asarray(random.integers(0, 2, shape)).astype(dtype)
    count = math.prod(shape) * dtype.itemsize
    return random.integers(0, 256, count, dtype=np.uint8).view(dtype).reshape(shape)


def special(dtype):
    """The values at the ends of a dtype."""
    dtype = jnp.dtype(dtype)
    if jnp.issubdtype(dtype, jnp.integer):
        info = jnp.iinfo(dtype)
        return np.array([info.min, info.max], dtype)
    if dtype.kind == "c":
        return np.array([complex(np.inf, 1), complex(np.nan, 2), -2.5]).astype(dtype)
    if dtype.kind == "b":
        return np.array([True, False])
    info = jnp.finfo(dtype)
    return np.array([np.nan, -0.0, float(info.max), float(info.tiny)]).astype(dtype)


def round_trip(arrays, places, lanes=()):
    """There and back in one program, and back on the host."""

    def run(*arrays):
        words, others = pack(places, arrays)
        return words, others, unpack(places, words, others)

    for _ in lanes:
        run = jax.vmap(run)
    words, others, traced = jax.jit(run)(*arrays)
    count = sum(place.words for place in places if place.start is not None)
    assert (words.shape, words.dtype) == ((*lanes, count), jnp.uint32)
    on_host = unpack(places, np.asarray(words), list(map(np.asarray, others)))
    assert all(isinstance(array, np.ndarray | np.generic) for array in on_host)
    for expected, one, other in zip(arrays, traced, on_host, strict=True):
        assert_same(one, expected)
        assert_same(other, expected)
    return words, others


def in_lanes(dtypes, shapes, lanes=()):
    """Arrays of all dtypes and shapes, with leading axes; and the places of a single lane."""
    kinds = [(dtype, shape) for dtype in dtypes for shape in shapes]
    arrays = [example(dtype, (*lanes, *shape), seed) for seed, (dtype, shape) in enumerate(kinds)]
    return arrays, places_of([array[(0,) * len(lanes)] for array in arrays])


@pytest.mark.parametrize("dtype", NARROW)
def test_every_dtype(dtype):
    arrays = [*(example(dtype, shape) for shape in SHAPES), special(dtype)]
    round_trip(arrays, places_of(arrays))


@pytest.mark.parametrize("dtype", WIDE)
def test_every_wide_dtype(dtype):
    with jax.enable_x64(True):
        test_every_dtype(dtype)


@pytest.mark.parametrize(
    "value", [complex(3, np.inf), complex(3, np.nan), complex(-0.0, 1), complex(0, -0.0)]
)
def test_special_imaginary_parts(value):
    arrays = [np.array(value, np.complex64)]
    round_trip(arrays, places_of(arrays))


@pytest.mark.parametrize("order", [1, -1], ids=["narrow_first", "wide_first"])
def test_dtypes_side_by_side(order):
    """Each begins where the one before it ends, whatever their sizes; 65 words and more."""
    with jax.enable_x64(True):
        words, _ = round_trip(*in_lanes((NARROW + WIDE)[::order], [(3,)]))
    assert words.size > 64


@pytest.mark.parametrize("count", [0, 1, 64, 65, 130])
def test_number_of_words(count):
    arrays = [np.full((), n, np.int32) for n in range(min(count, 3))]
    arrays += [np.arange(n, min(n + 16, count), dtype=np.float32) for n in range(3, count, 16)]
    words, others = round_trip(arrays, places_of(arrays))
    assert (words.size, others) == (count, [])


@pytest.mark.parametrize(
    ("dtype", "shape", "words"),
    [
        ("bool", (), 1), ("int8", (3,), 3), ("float32", (2, 2), 4), ("complex64", (3,), 6),
        ("float32", (16,), 16), ("float32", (0,), 0), ("float32", (17,), None), ("int4", (), None),
    ],
)  # fmt: skip
def test_what_travels_alone(dtype, shape, words):
    """More than sixteen elements do, and elements without a byte of their own."""
    (place,) = places_of([example(dtype, shape)])
    assert (place.start, words and place.words) == (None if words is None else 0, words)


@pytest.mark.parametrize("lanes", [(3,), (2, 3)], ids=["vmap", "vmap_of_vmap"])
def test_leading_axes_of_vmap(lanes):
    """`vmap` puts axes before those of the words; they come before those of each array."""
    dtypes = ["bool", "bfloat16", "float32", "complex64"]
    round_trip(*in_lanes(dtypes, [(), (2, 1), (17,)], lanes), lanes)


def test_lanes_of_wide_dtypes():
    with jax.enable_x64(True):
        round_trip(*in_lanes(WIDE, [(), (2,)], (3,)), (3,))
