"""Rules about the numbers that values take: what they find, and what they leave alone."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from verax.audit.rules.registry import find
from verax.audit.run import audit_callable

X = jnp.linspace(0.1, 1.0, 8)
MASK = X > 0.5
PIXELS = jnp.zeros((8, 8), jnp.uint8)
TILES = jnp.ones((4, 4), jnp.int8)
INDEX = jnp.arange(4)
KEY = jax.random.key(0)


def found(rule, function, *args, ranges=None):
    """How often a rule fires on a function."""
    report = audit_callable(function, args, {}, ranges=ranges, rules=[find(rule)], strict=True)
    return [find(finding.code).name for finding in report.findings]


def masked(x, mask):
    return jax.nn.softmax(jnp.where(mask, x, -1e9))


def sqrt_of_difference(x):
    return jnp.sqrt(1 - x * x).sum()


def sizes_added(x, sizes):
    """A sum over each of several parts, given how long they are."""
    part = jnp.repeat(jnp.arange(len(sizes)), sizes, total_repeat_length=len(x))
    return jax.ops.segment_sum(x, part, num_segments=len(sizes))


def noisy(step):
    """A loop that draws from a normal distribution in each turn."""

    def run(x):
        def turn(x, key):
            x = step(x, jax.random.normal(key, x.shape))
            return x, x

        return lax.scan(turn, x, jax.random.split(KEY, 3))[0]

    return run


# --- Undefined operations

UNDEFINED = [
    (lambda x: jnp.log(jax.nn.relu(x)).sum(), (X,), None),
    (lambda x, m: (masked(x, m) * jnp.log(masked(x, m))).sum(), (X, MASK), None),
    (lambda x, m: (x / jnp.where(m, x, 0.0)).sum(), (X, MASK), None),
    (lambda x: jnp.log(jnp.arange(8) * x).sum(), (X,), None),
    (lambda x: x / jnp.arange(8), (X,), None),
    (lambda x: jnp.mean(x / jax.nn.one_hot(3, 8)), (X,), None),
    (lambda x: jnp.mean(1 / jnp.clip(x, 0, 1)), (X,), None),
    (sqrt_of_difference, (X,), {"x": (0, 2)}),
    (lambda x: jnp.arccos(2 * x).sum(), (X,), {"x": (-1, 1)}),
    (lambda x: lax.rsqrt(jnp.maximum(x, 0.0)).sum(), (X,), None),
    (lambda x: jnp.log(x).mean(), (X,), {"x": (0, 1)}),
    (lambda x: (x ** 0.5).sum(), (X,), {"x": (-1, 1)}),
    (lambda x: (x ** -2).sum(), (X,), {"x": (0, 1)}),
    (lambda x: jnp.log1p(-x).sum(), (X,), {"x": (0, 1)}),
    (lambda x: lax.scan(lambda n, y: (n + 1, y / n), 0.0, x)[1], (X,), None),
    (lambda i: jnp.log(jnp.bincount(i, length=5) / 4).sum(), (INDEX,), None),
    (lambda i: (1 / jax.nn.one_hot(i, 5).sum(0)).sum(), (INDEX,), None),
    (lambda i: (1 / (i[:, None] == jnp.arange(5)[None]).sum(0)).sum(), (INDEX,), None),
    (lambda x, i: (1 / jax.ops.segment_sum(x, i, num_segments=4)).sum(), (X[:4], INDEX), None),
    (lambda i: (1 / jnp.zeros(5).at[jnp.cumsum(i) * i].add(1.0)).sum(), (INDEX,), None),
    (lambda x: jax.vmap(lambda y: jnp.log(jnp.maximum(y, 0.0)))(x).sum(), (X,), None),
    # Noise without bounds, added up.
    (noisy(lambda v, z: v + 0.1 * (1 - v) + 0.3 * jnp.sqrt(v) * z), (X,), None),
    (lambda x: jnp.log(jax.vmap(noisy(lambda v, z: 0.9 * v - 0.2 * z))(x)).sum(), (X,), None),
    (lambda x: (noisy(lambda v, z: v + jnp.eye(8) @ z)(x) ** 1.5).sum(), (X,), None),
]  # fmt: skip

DEFINED = [
    # Nothing is known.
    (lambda x: jnp.log(x).sum(), (X,), None),
    (lambda x: (x / x.sum()).sum(), (X,), None),
    (lambda x: jnp.sqrt(x - x.mean()).sum(), (X,), None),
    (lambda x: (x - x.mean()) / x.std(), (X,), None),
    (lambda x: x / jnp.linalg.norm(x), (X,), None),
    (lambda x: jnp.log(jax.nn.softmax(x)).sum(), (X,), None),
    (lambda x: jax.nn.log_softmax(x).sum(), (X,), None),
    # Bounded away.
    (lambda x: jnp.log(jnp.maximum(x, 1e-6)).sum(), (X,), None),
    (lambda x: jnp.log(jax.nn.relu(x) + 1e-6).sum(), (X,), None),
    (lambda x: x / (jnp.arange(8) + 1), (X,), None),
    (lambda x: x[1:] / jnp.arange(8)[1:], (X,), None),
    (lambda x: jnp.sqrt(1 - jnp.clip(x, -1, 1) ** 2).sum(), (X,), None),
    (lambda x: jnp.arccos(jnp.clip(2 * x, -1, 1)).sum(), (X,), {"x": (-1, 1)}),
    (lambda i: (1 / jax.nn.one_hot(i, 5).sum(1)).sum(), (INDEX,), None),
    (lambda i: (i[0] / jax.nn.one_hot(jnp.arange(9) % 3, 3).sum(0)).sum(), (INDEX,), None),
    (lambda i: (1 / jnp.maximum(jax.nn.one_hot(i, 5).sum(0), 1)).sum(), (INDEX,), None),
    (lambda x, n: (x.sum() / sizes_added(jnp.ones(8), n)).sum(), (X, INDEX), None),
    (lambda x, n: (sizes_added(x, n) / sizes_added(jnp.exp(x), n)).sum(), (X, INDEX), None),
    # Noise that cannot bring it there, or not for long.
    (noisy(lambda v, z: jnp.abs(v + 0.3 * jnp.sqrt(v) * z)), (X,), None),
    (noisy(lambda v, z: v + 0.3 * jnp.sqrt(jnp.maximum(v, 0.0)) * z), (X,), None),
    (noisy(lambda v, z: jnp.exp(jnp.log(v) + 0.3 * z)), (X,), None),
    (noisy(lambda v, z: v + jnp.sqrt(jnp.sum(v * v)) * z), (X,), None),
    (lambda x: jnp.log(noisy(lambda v, z: v + 0.2 * v * z)(x)).sum(), (X,), None),
    (lambda x: jnp.log(noisy(lambda v, z: v * (1 + 0.2 * z))(x)).sum(), (X,), None),
    # Made safe before.
    (lambda x, m: (x / jnp.where(m, jnp.where(m, x, 0.0), 1.0)).sum(), (X, MASK), None),
    (lambda x, m: jnp.log(jnp.where(m, masked(x, m), 1.0)).sum(), (X, MASK), None),
    (lambda x: (x / jnp.where(x == 0, 1.0, x)).sum(), (X,), {"x": (0, 1)}),
    # Chosen away afterwards.
    (lambda x: jnp.where(x > 0, jnp.log(jax.nn.relu(x)), 0.0).sum(), (X,), None),
    (lambda x, m: jnp.where(m, jnp.log(masked(x, m)), 0.0).sum(), (X, MASK), None),
    (lambda x: lax.cond(x[0] > 0, lambda: jnp.log(x[0]), lambda: 0.0), (X,), {"x": (0, 1)}),
    # Where an infinite logarithm is what is wanted.
    (lambda x, m: jnp.log(masked(x, m)), (X, MASK), None),
    (lambda x, m: jax.random.categorical(KEY, jnp.log(masked(x, m))), (X, MASK), None),
    (lambda x, m: jax.nn.softmax(x + jnp.log(m.astype(jnp.float32))), (X, MASK), None),
    (lambda x: jnp.log(jax.random.uniform(KEY)) < x[0], (X,), None),
    # Counted before the division.
    (lambda x: lax.scan(lambda n, y: (n + 1, y / (n + 1)), 0.0, x)[1], (X,), None),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "ranges"), UNDEFINED)
def test_an_undefined_operation_is_found(function, args, ranges):
    assert found("undefined-operation", function, *args, ranges=ranges) == ["undefined-operation"]


@pytest.mark.parametrize(("function", "args", "ranges"), DEFINED)
def test_a_defined_operation_is_left_alone(function, args, ranges):
    assert found("undefined-operation", function, *args, ranges=ranges) == []


def test_a_bound_that_rules_a_hazard_out_is_verified():
    report = audit_callable(
        lambda x: jnp.log(jnp.maximum(x, 1e-3)), (X,), {}, ranges={"x": (0, 1)}, strict=True
    )
    (verified,) = [it for it in report.verified if it.code == "DF201"]
    assert "[0.001, 1]" in verified.reason


@pytest.mark.parametrize("of_library", [jnp.log2, jnp.log10])
def test_a_division_that_only_the_library_makes_is_not_verified(of_library):
    report = audit_callable(
        lambda x: of_library(jnp.maximum(x, 1e-3)), (X,), {}, ranges={"x": (0, 1)}, strict=True
    )
    entries = [it.claim for it in report.verified if it.code == "DF201"]
    assert not [it for it in entries if it.startswith("division")]


# --- Integers


def blended(u):
    """Two images, each in its share of 255."""
    share = u[:, :1].astype(jnp.uint16)
    return ((u * share + u[::-1] * (255 - share)) // 255).astype(jnp.uint8)


WRAPPING = [
    (lambda u: u - u[::-1], (PIXELS,), None),
    (lambda u: u - 128, (PIXELS,), None),
    (lambda u: (u + u[::-1]) // 2, (PIXELS,), None),
    (lambda u: u * 2, (PIXELS,), None),
    (lambda u: u.astype(jnp.int8), (PIXELS,), None),
    (lambda u: u @ u, (PIXELS,), None),
    (lambda u: u.sum(dtype=jnp.uint8), (PIXELS,), None),
    (lambda u: jnp.cumsum(u, axis=0), (PIXELS,), None),
    (lambda i: jnp.zeros(3, jnp.uint8).at[i].add(1), (jnp.zeros(300, jnp.int32),), None),
    (lambda u: u.astype(jnp.uint16) * u + u[::-1].astype(jnp.uint16) * (255 - u), (PIXELS,), None),
    (lambda u: u[::-1] * u + u.T * (255 - u) // 255, (PIXELS,), None),
    (lambda t: 2**t, (TILES,), None),
    (lambda t: jnp.where(t == t[::-1], 2**t, 0), (TILES,), None),
    (lambda t: jax.vmap(lambda row: jnp.power(jnp.int8(3), row))(t), (TILES,), None),
    (lambda i: i * i, (INDEX,), {"i": (0, 100_000)}),
    (lambda i: i * 60_000, (INDEX,), {"i": (0, 100_000)}),
    (lambda i: (i * 2).astype(jnp.uint8), (INDEX,), {"i": (0, 200)}),
    (lambda n: n - 1, (jnp.zeros(3, jnp.uint32),), {"n": (0, 10)}),
]  # fmt: skip

FITTING = [
    (lambda t: 2 ** t.astype(jnp.int32), (TILES,), None),
    (lambda t: 2 ** jnp.clip(t, 0, 6), (TILES,), None),
    (lambda t: jnp.where(t < 7, 2**t, 0), (TILES,), None),
    (lambda t: t + 1, (TILES,), None),
    (lambda t: t.at[0].add(1).at[1].set(0), (TILES,), None),
    (lambda u: u.astype(jnp.int16) - u[::-1].astype(jnp.int16), (PIXELS,), None),
    (lambda u: jnp.maximum(u, u[::-1]) - jnp.minimum(u, u[::-1]), (PIXELS,), None),
    (lambda u: jnp.where(u > u[::-1], u - u[::-1], u[::-1] - u), (PIXELS,), None),
    (lambda u: (u - u[::-1]).astype(jnp.int8), (PIXELS,), None),
    (lambda u: 255 - u, (PIXELS,), None),
    (lambda i: jnp.zeros(3, jnp.uint8).at[i].add(1), (jnp.zeros(200, jnp.int32),), None),
    (lambda i: jnp.zeros(300, jnp.int32).at[i].add(1), (jnp.zeros(300, jnp.int32),), None),
    (lambda u: jnp.zeros((4, 300), jnp.uint8).at[INDEX].add(u), (jnp.ones((4, 300), bool),), None),
    (blended, (PIXELS,), None),
    (lambda u: u // 2 + 1, (PIXELS,), None),
    (lambda u: u - u % 8, (PIXELS,), None),
    (lambda i: i * i + 1, (INDEX,), None),
    (lambda i: X[i - 1], (INDEX,), None),
    (lambda n: n - 1, (jnp.zeros(3, jnp.uint32),), None),
    (lambda i: jnp.where(i < 2**31 - 1, i + 1, 2**31 - 1), (INDEX,), None),
    (lambda u: u.sum(), (PIXELS,), None),
    (lambda u: (u > 9).sum(axis=0, dtype=jnp.uint8), (PIXELS,), None),
    (lambda u: jnp.cumsum(u, axis=0, dtype=jnp.int32), (PIXELS,), None),
    (lambda i: jnp.arange(60_000).sum() + i, (INDEX,), None),
    (lambda x: jax.random.randint(KEY, (3,), 0, 255), (X,), None),
    (lambda x: jax.random.normal(KEY, (3,)), (X,), None),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "ranges"), WRAPPING)
def test_an_integer_that_wraps_is_found(function, args, ranges):
    assert found("integer-wraps", function, *args, ranges=ranges) == ["integer-wraps"]


@pytest.mark.parametrize(("function", "args", "ranges"), FITTING)
def test_an_integer_that_fits_is_left_alone(function, args, ranges):
    assert found("integer-wraps", function, *args, ranges=ranges) == []


# --- Indices

OUTSIDE = [
    (lambda x: x[jnp.arange(8) + 1], (X,), None),
    (lambda x: lax.fori_loop(0, 8, lambda i, s: s + x[i + 1], 0.0), (X,), None),
    (lambda x: lax.fori_loop(0, 8, lambda i, y: y.at[i + 1].set(x[i]), x), (X,), None),
    (lambda x, t: x[jnp.argmax(t)], (X, jnp.zeros(12)), None),
    (lambda x: x[jax.random.randint(KEY, (), 0, 9)], (X,), None),
    (lambda x, i: x[i], (X, INDEX), {"i": (0, 8)}),
    (lambda x, i: x[i], (X, INDEX.astype(jnp.uint8)), {"i": (0, 8)}),
    (lambda x, i: jnp.take(x, i), (X, INDEX), {"i": (1, 8)}),
    (lambda x, i: lax.dynamic_slice(x, (i[0],), (4,)), (X, INDEX), {"i": (0, 7)}),
]  # fmt: skip

INSIDE = [
    (lambda x: x[jnp.arange(8) - 1], (X,), None),
    (lambda x: lax.fori_loop(0, 7, lambda i, s: s + x[i + 1], 0.0), (X,), None),
    (lambda x: lax.fori_loop(0, 8, lambda i, s: s + x[(i + 1) % 8], 0.0), (X,), None),
    (
        lambda x: lax.fori_loop(0, 8, lambda i, s: s + jnp.where(i < 7, x[i + 1], 0.0), 0.0),
        (X,),
        None,
    ),
    (lambda x, i: x[i], (X, INDEX), None),
    (lambda x, i: x[i], (X, INDEX), {"i": (-8, 7)}),
    # A dtype holds more than there are labels.
    (lambda x, i: x[i + 1], (X, INDEX.astype(jnp.uint8)), None),
    (lambda x, i: jnp.take(x, i.astype(jnp.int32) // 2), (X, INDEX.astype(jnp.uint8)), None),
    (lambda x, i: x[i], (X, INDEX.astype(jnp.int8)), None),
    (lambda x, i: x[jnp.clip(i, 0, 7)], (X, INDEX), None),
    (lambda x: x[jnp.argmax(x)], (X,), None),
    (lambda x: x[jax.random.randint(KEY, (), 0, 8)], (X,), None),
    (lambda x: x[jax.random.permutation(KEY, 8)], (X,), None),
    (lambda x: jnp.sort(x)[jnp.argsort(x)], (X,), None),
    (lambda x, m: x.at[jnp.where(m, jnp.arange(8), 8)].set(0.0), (X, MASK), None),
    (lambda x, i: x.at[i].get(mode="fill", fill_value=0), (X, INDEX), {"i": (0, 8)}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "ranges"), OUTSIDE)
def test_an_index_outside_is_found(function, args, ranges):
    assert found("index-outside", function, *args, ranges=ranges) == ["index-outside"]


@pytest.mark.parametrize(("function", "args", "ranges"), INSIDE)
def test_an_index_inside_is_left_alone(function, args, ranges):
    assert found("index-outside", function, *args, ranges=ranges) == []


# --- Gradients


def late(condition, function):
    return jax.grad(lambda x: jnp.where(condition(x), function(x), 0.0).sum())


BROKEN = [
    late(lambda x: x > 0, jnp.log),
    late(lambda x: x > 0, jnp.sqrt),
    late(lambda x: x != 0, lambda x: 1 / x),
    late(lambda x: ~(x <= 0), lambda x: 2 * jnp.sqrt(x)),
    late(lambda x: (x > 0) & (x < 3), jnp.log),
    jax.grad(lambda x: jnp.where(x.sum() > 0, x / x.sum(), 0.0).sum()),
    jax.value_and_grad(lambda x: jnp.where(x == 0, 0.0, jnp.sin(x) / x).sum()),
]
SOUND = [
    lambda x: jnp.where(x > 0, jnp.log(x), 0.0),
    late(lambda x: x > 0, lambda x: jnp.log(jnp.where(x > 0, x, 1.0))),
    late(lambda x: x > 0, lambda x: jnp.log(jnp.maximum(x, 1e-6))),
    late(lambda x: x > 0, jnp.tanh),
    late(lambda x: x > 0, lambda x: jnp.log(1 + x * x)),
    jax.grad(lambda x: jnp.log(x).sum()),
    jax.grad(lambda x: (x * lax.stop_gradient(jnp.where(x > 0, jnp.log(x), 0.0))).sum()),
    jax.grad(lambda x: jax.nn.relu(x).sum() + jnp.logaddexp(x, 0.0).sum()),
    jax.grad(lambda x: jax.scipy.special.xlogy(x, x).sum()),
    jax.grad(lambda x: jnp.where(x > 2, x / 3.0, x).sum()),
    jax.grad(lambda x: jnp.where(x > 2, 1 / x, x).sum()),
]


@pytest.mark.parametrize("function", BROKEN)
def test_a_where_that_comes_too_late_is_found(function):
    assert found("where-after-undefined", function, X) == ["where-after-undefined"]


@pytest.mark.parametrize("function", BROKEN)
def test_such_a_gradient_is_nan(function):
    results = jax.tree.leaves(function(jnp.zeros(8)))
    assert any(jnp.isnan(result).any() for result in results)


@pytest.mark.parametrize("function", SOUND)
def test_a_gradient_that_is_safe_is_left_alone(function):
    assert found("where-after-undefined", function, X) == []


def test_a_root_at_a_clipped_zero_is_found_only_in_a_gradient():
    def root(x):
        return jnp.sqrt(jnp.maximum(x, 0.0)).sum()

    assert found("infinite-derivative", jax.grad(root), X) == ["infinite-derivative"]
    assert found("infinite-derivative", root, X) == []
    assert (
        found("infinite-derivative", jax.grad(lambda x: jnp.sqrt(jnp.maximum(x, 1e-9)).sum()), X)
        == []
    )


# --- Pixels


def test_scaled_pixels_are_left_alone():
    weights = jnp.ones((64, 2))

    def scaled(u):
        return (u.astype(jnp.float32) / 127.5 - 1).reshape(-1) @ weights

    assert found("unscaled-pixels", scaled, PIXELS) == []
    assert found(
        "unscaled-pixels", lambda u, w: u.reshape(-1).astype(jnp.float32) @ w, PIXELS, weights
    )


# --- Saturation


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: jnp.log(jax.nn.sigmoid(x)), 1),
        (lambda x: jnp.log(1 - jax.nn.sigmoid(x)), 1),
        (lambda x: jnp.log(1 - jnp.tanh(x) ** 2), 1),
        (lambda x: jnp.log(1 - jnp.square(jnp.tanh(x)) + 1e-6), 0),
        (lambda x: jnp.log(1 - jnp.tanh(jnp.clip(x, -5, 5)) ** 2), 0),
        (lambda x: jnp.log(1 + jnp.tanh(x) ** 2), 0),
        (lambda x: jnp.log(1 - jnp.clip(jax.nn.sigmoid(x), 0.01, 0.99)), 0),
        (lambda x: jax.nn.log_sigmoid(x), 0),
    ],
)
def test_a_logarithm_of_a_saturated_function_is_a_warning(function, count):
    assert len(found("saturated-logarithm", function, X)) == count
