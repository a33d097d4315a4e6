"""Rules about the axes that sums and means go over, beside what the programs really do.

A mean over examples is the same for a batch and for the batch twice; what is found must not be.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from verax.audit.rules.registry import find
from verax.audit.run import audit_callable

RNG = np.random.default_rng(0)


def array(*shape):
    return jnp.asarray(RNG.normal(size=shape), jnp.float32)


W, X, Y = array(3, 2), array(8, 3), array(8, 2)
AXES = {"x": "batch feat", "y": "batch out"}


@pytest.fixture(autouse=True)
def jax_as_it_comes():
    """Our suite forbids broadcasts between ranks; the programs here live with them."""
    with jax.numpy_rank_promotion("allow"):
        yield


def found(rule, function, *args, axes=None):
    report = audit_callable(function, args, {}, axes=axes, rules=[find(rule)], strict=True)
    assert report.notes == ()
    return report.findings


def ratio_for_a_double_batch(function):
    once, twice = function(W, X, Y), function(W, jnp.tile(X, (2, 1)), jnp.tile(Y, (2, 1)))
    return float(jnp.linalg.norm(twice) / jnp.linalg.norm(once))


# --- A total that is added to each


def divergence_over_all(w, x, y):
    code = x @ w
    return jnp.mean(jnp.sum((code - y) ** 2, axis=-1) + 0.1 * jnp.sum(code**2))


def subtracted_and_summed(w, x, y):
    return jnp.sum(jnp.mean((x @ w) ** 2, axis=-1) - jnp.sum(y**2))


def in_a_helper(w, x, y):
    def penalty(code):
        return 0.5 * jnp.sum(code**2)

    code = x @ w
    return jnp.mean(jnp.abs(code - y).sum(axis=1) + penalty(code))


@pytest.mark.parametrize("function", [divergence_over_all, subtracted_and_summed, in_a_helper])
def test_a_total_among_elements_is_found(function):
    (finding,) = found("total-added-to-each", function, W, X, Y, axes=AXES)
    assert "along batch" in finding.current
    assert ratio_for_a_double_batch(function) > 1.02


def divergence_for_each(w, x, y):
    code = x @ w
    return jnp.mean(jnp.sum((code - y) ** 2, axis=-1) + 0.1 * jnp.sum(code**2, axis=-1))


def divided_by_the_batch(w, x, y):
    code = x @ w
    total = 0.5 * jnp.sum(code**2) / x.shape[0]
    return jnp.mean(jnp.sum((code - y) ** 2, axis=-1) + total)


def mean_over_all(w, x, y):
    code = x @ w
    return jnp.mean(jnp.mean((code - y) ** 2, axis=-1) + jnp.mean(code**2))


def weights_decay(w, x, y):
    return jnp.mean(jnp.sum((x @ w - y) ** 2, axis=-1) + 0.1 * jnp.sum(w**2))


@pytest.mark.parametrize(
    "function", [divergence_for_each, divided_by_the_batch, mean_over_all, weights_decay]
)
def test_a_mean_over_examples_is_left_alone(function):
    assert not found("total-added-to-each", function, W, X, Y, axes=AXES)
    assert ratio_for_a_double_batch(function) == pytest.approx(1.0, rel=1e-4)


def energies_after_one_flip(couplings, spins):
    energy = -jnp.sum(couplings * spins[:, None] * spins)
    return energy + 2 * jnp.sum(couplings * spins[:, None] * spins, axis=1)


def pairs_and_rows(x):
    squares = ((x[:, None] - x) ** 2).sum(-1)
    return squares.sum(0).sum(), jnp.mean(squares.sum() - squares.sum(1))


def test_a_total_that_is_meant_for_each_is_left_alone():
    assert not found("total-added-to-each", energies_after_one_flip, array(4, 4), array(4))
    assert not found("total-added-to-each", pairs_and_rows, X)


# --- A mean over all axes, and a deviation over some


def with_numpy_functions(x):
    return (x - x.mean()) / x.std(axis=0)


def by_hand(x):
    mean = jnp.mean(x)
    return (x - mean) / jnp.sqrt(jnp.mean((x - mean) ** 2, axis=0) + 1e-6)


def with_an_inverse_root(x):
    return (x - jnp.mean(x)) * jax.lax.rsqrt(jnp.var(x, axis=0) + 1e-6)


def centred_first(x):
    centred = x - x.mean()
    return centred / centred.std(axis=0)


FAR = array(8, 3) + jnp.array([[10.0, 0.0, -5.0]])


@pytest.mark.parametrize(
    "function", [with_numpy_functions, by_hand, with_an_inverse_root, centred_first]
)
def test_a_mean_over_more_axes_than_the_deviation_is_found(function):
    assert len(found("mean-over-all", function, FAR)) == 1
    assert float(jnp.abs(function(FAR).mean(axis=0)).max()) > 0.5


def over_the_batch(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def over_features(x):
    return (x - x.mean(axis=-1, keepdims=True)) / jnp.sqrt(x.var(axis=-1, keepdims=True) + 1e-6)


def over_everything(x):
    return (x - x.mean()) / x.std()


def in_proportion(x):
    return (x - x.mean(axis=0)) / x.std()


def of_something_else(x):
    return (x - x.mean()) / jnp.abs(jnp.sin(x)).std(axis=0)


@pytest.mark.parametrize(
    "function",
    [over_the_batch, over_features, over_everything, in_proportion, of_something_else],
)
def test_other_statistics_are_left_alone(function):
    assert not found("mean-over-all", function, FAR)


def test_an_axis_of_size_one_makes_no_difference():
    assert not found("mean-over-all", with_numpy_functions, array(8, 1))


# --- Inputs of one network


def standardised(x, axis=None):
    return (x - x.mean(axis)) / (x.std(axis) + 1e-6)


def by_different_statistics(w, x, y):
    return standardised(x, 0) @ w - standardised(y) @ w


def by_different_statistics_in_a_map(w, x, y):
    x, y = standardised(x, 0), standardised(y)
    return jax.vmap(lambda a, b: jnp.tanh(a @ w) - jnp.tanh(b @ w))(x, y)


@pytest.mark.parametrize("function", [by_different_statistics, by_different_statistics_in_a_map])
def test_inputs_of_one_network_that_differ_in_their_statistics_are_found(function):
    assert len(found("siblings-standardised-differently", function, W, X, array(8, 3))) == 1


def by_the_same(w, x, y):
    return standardised(x, 0) @ w - standardised(y, 0) @ w, standardised(x) @ y.T


def both_over_all(w, x, y):
    return standardised(x) @ w - standardised(y) @ w


def raw_beside_standardised(w, x, y):
    return standardised(x) @ w - y @ w


@pytest.mark.parametrize("function", [by_the_same, both_over_all, raw_beside_standardised])
def test_inputs_that_are_prepared_alike_are_left_alone(function):
    assert not found("siblings-standardised-differently", function, W, X, array(8, 3))


# --- A loss that is averaged over features only


def features_first(w, x, y):
    return jax.grad(lambda w: jnp.mean((x @ w - y) ** 2, axis=-1).sum())(w)


def batch_first(w, x, y):
    return jax.grad(lambda w: jnp.mean(jnp.sum((x @ w - y) ** 2, axis=0)))(w)


def example_by_example(w, x, y):
    def one(w, x, y):
        return jnp.mean((x @ w - y) ** 2)

    return jax.grad(lambda w: 0.5 * jax.vmap(one, (None, 0, 0))(w, x, y).sum())(w)


@pytest.mark.parametrize("function", [features_first, batch_first, example_by_example])
def test_a_loss_that_grows_with_the_batch_is_found(function):
    (finding,) = found("batch-summed-in-loss", function, W, X, Y, axes=AXES)
    assert "averaged over out, and summed over batch" in finding.current
    assert ratio_for_a_double_batch(function) == pytest.approx(2.0, rel=1e-4)


def mean_of_means(w, x, y):
    return jax.grad(lambda w: jnp.mean((x @ w - y) ** 2, axis=-1).mean())(w)


def divided_in_the_loss(w, x, y):
    return jax.grad(lambda w: jnp.mean((x @ w - y) ** 2, axis=-1).sum() / x.shape[0])(w)


def divided_afterwards(w, x, y):
    return features_first(w, x, y) / x.shape[0]


def divided_by_its_norm(w, x, y):
    slope = features_first(w, x, y)
    return slope / jnp.linalg.norm(slope)


@pytest.mark.parametrize(
    "function", [mean_of_means, divided_in_the_loss, divided_afterwards, divided_by_its_norm]
)
def test_a_gradient_that_does_not_grow_is_left_alone(function):
    assert not found("batch-summed-in-loss", function, W, X, Y, axes=AXES)
    assert ratio_for_a_double_batch(function) == pytest.approx(1.0, rel=1e-4)


def for_each_example(w, x, y):
    return jax.grad(lambda x: jnp.mean((x @ w - y) ** 2, axis=-1).sum())(x)


def weighted(w, x, y):
    weights = jax.nn.softmax(y[:, 0])
    return jax.grad(lambda w: jnp.sum(weights * jnp.mean((x @ w - y) ** 2, axis=-1)))(w)


def likelihood(w, x, y):
    return jax.grad(lambda w: jnp.sum((x @ w - y) ** 2))(w)


@pytest.mark.parametrize("function", [for_each_example, weighted, likelihood])
def test_a_sum_that_is_meant_is_left_alone(function):
    assert not found("batch-summed-in-loss", function, W, X, Y, axes=AXES)
