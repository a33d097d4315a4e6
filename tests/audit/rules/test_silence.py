"""Correct programs that look like wrong ones give no issue.

Each is an idiom that some rule comes close to: all pairs on purpose, a softmax over a batch of
pairs, sums over a batch in a scan, keys in exclusive branches, guarded roots, targets that are
stopped, carries that are constant in part.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.stats import norm

from verax.audit.run import audit_callable

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def array(*shape):
    return jnp.asarray(RNG.normal(size=shape).astype(np.float32))


def deltas_of_calls(spots, strikes):
    def price(spot, strike):
        d1 = jnp.log(spot / strike) / 0.3
        cdf = jax.scipy.stats.norm.cdf
        return spot * cdf(d1) - strike * cdf(d1 - 0.3)

    return jax.vmap(jax.grad(price))(spots, strikes)


def contrastive(a, b):
    a = a / jnp.linalg.norm(a, axis=-1, keepdims=True)
    b = b / jnp.linalg.norm(b, axis=-1, keepdims=True)
    scores = a @ b.T / 0.07
    rows, columns = jax.nn.log_softmax(scores, axis=1), jax.nn.log_softmax(scores, axis=0)
    return -jnp.diag(rows).mean() - jnp.diag(columns).mean()


def attention(x, w):
    def heads(y):
        return y.reshape(2, 8, 3, 4).swapaxes(1, 2)

    q, k, v = (heads(x @ w[name]) for name in "qkv")
    mask = jnp.tril(jnp.ones((8, 8), bool))
    weights = jax.nn.softmax(jnp.where(mask, q @ k.swapaxes(-1, -2) / 2.0, -1e9))
    return (weights @ v).swapaxes(1, 2).reshape(2, 8, 12) + x


def begins_anew_once_all_are_through(pos, fresh):
    done = jnp.linalg.norm(pos, axis=-1) > 2
    return lax.cond(jnp.all(done), lambda: fresh, lambda: pos)


def mode_where_it_is_defined(concentration):
    total = concentration.sum() - concentration.size
    return jnp.where(jnp.all(concentration > 1.0), (concentration - 1.0) / total, jnp.nan)


def accumulated_gradients(x, w):
    def step(total, part):
        loss, grads = jax.value_and_grad(lambda w: jnp.mean((part @ w) ** 2))(w)
        return (total[0] + loss, total[1] + grads), None

    (loss, grads), _ = lax.scan(step, (0.0, jnp.zeros_like(w)), x)
    return loss / 6, grads / 6


def learned_online(weights, features, rewards, terminal):
    def step(carry, inp):
        weights, trace = carry
        x, reward, end = inp
        error = reward + 0.9 * jnp.where(end, 0.0, 1.0) - x @ weights
        trace = jnp.where(end, 0.0, 0.8 * trace + x)
        return (weights + 0.1 * error * trace, trace), error

    return lax.scan(step, (weights, jnp.zeros_like(weights)), (features, rewards, terminal))


def advantages(rewards, dones, values, last):
    next_values = jnp.concatenate([values[1:], last[None]])

    def step(gae, inp):
        reward, done, value, next_value = inp
        delta = reward + 0.99 * next_value * (1 - done) - value
        gae = delta + 0.94 * (1 - done) * gae
        return gae, gae

    xs = (rewards, dones, values, next_values)
    _, adv = lax.scan(step, jnp.zeros_like(last), xs, reverse=True)
    return (adv - adv.mean()) / (adv.std() + 1e-8), adv + values


def returns_of_flipped(rewards, discounts, values):
    def step(total, inp):
        reward, discount, value = inp
        total = reward + discount * (0.1 * value + 0.9 * total)
        return total, total

    flipped = (rewards[::-1], discounts[::-1], values[::-1])
    return lax.scan(step, values[-1], flipped)[1][::-1]


class EnvState(NamedTuple):
    pos: jax.Array
    t: jax.Array
    key: jax.Array


def rollout_with_resets(state, actions):
    def env(state, action):
        key, reset_key = jax.random.split(state.key)
        pos, t = state.pos + action, state.t + 1
        done = (jnp.abs(pos).max() > 2) | (t >= 5)
        fresh = jax.random.uniform(reset_key, (2,))
        new = EnvState(jnp.where(done, fresh, pos), jnp.where(done, 0, t), key)
        return new, (pos, -jnp.sum(pos**2), done)

    return lax.scan(lambda s, a: jax.vmap(env)(s, a), state, actions)


def vector_quantised(encoder, x, codes):
    def loss(encoder, codes):
        z = x @ encoder
        distances = ((z[:, None] - codes[None]) ** 2).sum(-1)
        code = codes[jnp.argmin(distances, axis=1)]
        passed = z + lax.stop_gradient(code - z)
        codebook = jnp.mean((lax.stop_gradient(z) - code) ** 2)
        return jnp.mean(passed**2) + codebook + 0.25 * jnp.mean((z - lax.stop_gradient(code)) ** 2)

    return jax.grad(loss, argnums=(0, 1))(encoder, codes)


def guarded_norm(x):
    def norm(x):
        square = jnp.sum(x**2)
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)

    return jax.value_and_grad(norm)(x)


def scaled_image(image, w):
    return (image.astype(jnp.float32) / 255.0 - 0.5).reshape(2, -1) @ w


def ensemble(ws, x, y):
    def step(w, x, y):
        loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
        return w - 0.1 * grad, loss

    return jax.vmap(step)(ws, x, y)


def mask_for_all(key, x, w):
    mask_key, noise_key = jax.random.split(key)
    mask = jax.random.bernoulli(mask_key, 0.8, (3,))
    hidden = jax.vmap(lambda row: jnp.where(mask, row @ w, 0.0))(x)
    return hidden + 0.1 * jax.random.normal(noise_key, hidden.shape)


def filter_with_constants_in_the_carry(start, observed, dynamics):
    def step(carry, z):
        x, spread, dynamics = carry
        x, spread = dynamics @ x, dynamics @ spread @ dynamics.T + jnp.eye(3)
        gain = spread @ jnp.linalg.inv(spread + jnp.eye(3))
        return (x + gain @ (z - x), (jnp.eye(3) - gain) @ spread, dynamics), x

    return lax.scan(step, (start, jnp.eye(3), dynamics), observed)[1]


def key_in_either_branch(key, x):
    drawn = lax.cond(
        x.sum() > 0,
        lambda key: jax.random.normal(key, (4,)),
        lambda key: jax.random.uniform(key, (4,)),
        key,
    )
    return drawn + x


def numbers_folded_into_one_key(key, means):
    def observe(carry, mean):
        base, number = carry
        noise = jax.random.normal(jax.random.fold_in(base, number), mean.shape)
        return (base, number + 1), mean + noise

    return jax.lax.scan(observe, (key, jnp.zeros((), jnp.int32)), means)[1]


def all_pairs(x):
    return jnp.sqrt(((x[:, None] - x) ** 2).sum(-1) + 1e-9).mean()


def target_network(params, target, obs, next_obs, rewards):
    def loss(params):
        best = jnp.argmax(next_obs @ params, axis=-1)
        bootstrap = jnp.take_along_axis(next_obs @ target, best[:, None], axis=1)[:, 0]
        goal = lax.stop_gradient(rewards + 0.99 * bootstrap)
        return jnp.mean(((obs @ params)[:, 0] - goal) ** 2)

    params = params - 0.1 * jax.grad(loss)(params)
    return params, 0.99 * target + 0.01 * params


def unused_on_purpose(x):
    mean, _ = x.mean(0), x.std(0)
    rows = x.shape[0]
    return (x - mean).sum() / rows


def root_by_iteration(x):
    def body(carry):
        x, _, count = carry
        new = x - (x**3 - 1) / (3 * x**2 + 1e-3)
        return new, jnp.abs(new - x).max(), count + 1

    return lax.while_loop(lambda it: (it[1] > 1e-3) & (it[2] < 20), body, (x, jnp.inf, 0))


def kernel_matrix(x, y):
    def kernel(a, b):
        return jnp.exp(-jnp.sum((a - b) ** 2))

    return jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(y))(x)


def targets_without_the_next_episode(obs, fresh, reward, w):
    done = jnp.abs(obs).max(axis=-1) > 2.0
    value = jnp.where(done[:, None], fresh, obs) @ w
    masked = reward + 0.99 * ((1.0 - done) * value)
    chosen = reward + 0.99 * jnp.where(done, 0.0, value)
    return masked, chosen


def shares_of_all_rates(hits, trials):
    def share(hits, trials):
        rate = hits.sum() / jnp.maximum(trials.sum(), 1.0)
        return rate / lax.psum(rate, "devices")

    return jax.vmap(share, axis_name="devices")(hits, trials)


def learning_from_one_transition_at_a_time(w, obs, next_obs, rewards, dones):
    def learn(carry, transition):
        w, average, momentum = carry
        obs, next_obs, reward, done = transition
        target = reward + 0.9 * (1.0 - done) * (next_obs @ average)
        slope = jax.grad(lambda w: (obs @ w - target) ** 2)(w)
        momentum = 0.9 * momentum + slope
        w = w - 0.1 * momentum
        return (w, 0.9 * average + 0.1 * w, momentum), target

    return lax.scan(learn, (w, w, jnp.zeros_like(w)), (obs, next_obs, rewards, dones))


def powers_of_two(level):
    return 2**level, jnp.power(3, level), 1.0 / 2**level


def kept_if_the_factorisation_fails(scale, samples):
    factor = jnp.linalg.cholesky(jnp.cov(samples, rowvar=False))
    return jnp.where(jnp.any(jnp.isnan(factor)), scale, factor)


def determinant_by_cholesky(matrix):
    lower = jnp.linalg.cholesky(matrix @ matrix.T + jnp.eye(3))
    positions = jnp.arange(3)
    by_index = jnp.log(lower[positions, positions]).sum()
    return 2.0 * jnp.sum(jnp.log(jnp.diagonal(lower))) + by_index


ROOTS = np.array([0, 0, 2, 2])
PARENTS = np.array([-1, 0, -1, 2])


def centres_of_trees(masses, positions):
    total = jax.ops.segment_sum(masses, ROOTS, 4)
    moment = jax.ops.segment_sum(masses * positions, ROOTS, 4)
    return moment[ROOTS] / total[ROOTS]


def forces_on_parents(forces):
    # What has no parent is left out, as the documentation of `segment_sum` has it.
    return forces - jax.ops.segment_sum(forces, PARENTS, 4)


class Body(NamedTuple):
    position: jax.Array
    mass: jax.Array


def step_that_leaves_something_unused(body, forces):
    def moved(body, force):
        inverse = 1.0 / body.mass  # noqa: F841
        return body._replace(position=body.position + force)

    return lax.scan(lambda body, force: (moved(body, force), None), body, forces)


def mean_until_a_bound(x):
    def body(carry):
        total, count = carry
        return total + x[count.astype(jnp.int32) % 4], count + 1.0

    start = jnp.float32(0.0), jnp.float32(0.0)
    total, count = lax.while_loop(lambda carry: carry[0] < 5.0, body, start)
    return total / count


STATE = EnvState(array(4, 2), jnp.zeros(4, jnp.int32), jax.random.split(KEY, 4))
PROJECTIONS = {name: array(12, 12) for name in "qkv"}
IMAGE = jnp.zeros((2, 8, 8, 3), jnp.uint8)


def returns_written_into_an_array(rewards, dones):
    def back(i, state):
        total, out = state
        t = rewards.shape[1] - 1 - i
        total = rewards[:, t] + 0.9 * (1.0 - dones[:, t]) * total
        return total, out.at[:, t].set(total)

    start = (jnp.zeros(rewards.shape[0]), jnp.zeros_like(rewards))
    return lax.fori_loop(0, rewards.shape[1], back, start)[1]


def smoothed_rows(a, b):
    """A row of similarities has one for each of the batch."""

    def row_loss(row):
        batch_size = row.shape[0]
        return -jnp.sum(jax.nn.log_softmax(row)) / batch_size

    return jax.vmap(row_loss)(jnp.tanh(a) @ b.T).mean()


def pulled_by_all(charges, places):
    """Each number meets those of all others, and is one of them."""

    def pull(charge, place, charges, places):
        return jnp.sum(charge * charges * jnp.tanh(place - places))

    return jax.vmap(pull, in_axes=(0, 0, None, None))(charges, places, charges, places)


def smoothed(times, rates, values):
    """Sums over all of what has all of them already."""

    def at(time, rate):
        return jnp.sum(values * jnp.exp(-rate * (time - times) ** 2))

    return jax.vmap(at)(times, rates)


def priced_option(spots, strikes, volatilities):
    """Squares inside of a density are no errors that something is fitted by."""

    def price(spot, strike, volatility):
        moneyness = jnp.log(spot / strike) / volatility + 0.5 * volatility
        return spot * norm.cdf(moneyness) - strike * norm.cdf(moneyness - volatility)

    return jax.vmap(jax.value_and_grad(price))(spots, strikes, volatilities)


PROGRAMS = [
    (smoothed_rows, (array(5, 3), array(5, 3)), None),
    (pulled_by_all, (array(5), array(5)), {"charges": "body", "places": "body"}),
    (
        smoothed,
        (array(5), array(5), array(5)),
        {"times": "point", "rates": "point", "values": "point"},
    ),
    (priced_option, (jnp.full(4, 1.1), jnp.ones(4), jnp.full(4, 0.2)), None),
    (
        returns_written_into_an_array,
        (array(4, 9), jnp.zeros((4, 9))),
        {"rewards": "env time", "dones": "env time"},
    ),
    (contrastive, (array(8, 16), array(8, 16)), {"a": "batch dim", "b": "batch dim"}),
    (attention, (array(2, 8, 12), PROJECTIONS), {"x": "batch time feat"}),
    (begins_anew_once_all_are_through, (array(4, 2), array(4, 2)), {"pos": "env dim"}),
    (accumulated_gradients, (array(6, 4, 3), array(3, 2)), {"x": "batch time feat"}),
    (
        learned_online,
        (array(3), array(12, 3), array(12), jnp.zeros(12, bool).at[5].set(True)),
        {"features": "time feat", "rewards": "time", "terminal": "time", "weights": "feat"},
    ),
    (
        advantages,
        (array(5, 4), array(5, 4), array(5, 4), array(4)),
        dict.fromkeys(("rewards", "dones", "values"), "time env") | {"last": "env"},
    ),
    (returns_of_flipped, (array(7), array(7), array(7)), None),
    (rollout_with_resets, (STATE, array(10, 4, 2)), None),
    (vector_quantised, (array(4, 3), array(8, 4), array(6, 3)), None),
    (guarded_norm, (array(5),), None),
    (scaled_image, (IMAGE, array(192, 4)), {"image": "batch height width channel"}),
    (ensemble, (array(3, 4, 2), array(3, 5, 4), array(3, 5, 2)), None),
    (mask_for_all, (KEY, array(4, 3), array(3, 3)), None),
    (filter_with_constants_in_the_carry, (array(3), array(10, 3), array(3, 3)), None),
    (key_in_either_branch, (KEY, array(4)), None),
    (numbers_folded_into_one_key, (KEY, array(5, 3)), None),
    (all_pairs, (array(6, 2),), None),
    (target_network, (array(4, 3), array(4, 3), array(8, 4), array(8, 4), array(8)), None),
    (unused_on_purpose, (array(5, 3),), None),
    (root_by_iteration, (array(4),), None),
    (targets_without_the_next_episode, (array(4, 3), array(4, 3), array(4), array(3)), None),
    (shares_of_all_rates, (array(2, 4), array(2, 4)), None),
    (
        learning_from_one_transition_at_a_time,
        (array(3), array(6, 3), array(6, 3), array(6), jnp.zeros(6)),
        None,
    ),
    (powers_of_two, (jnp.int32(5),), None),
    (kept_if_the_factorisation_fails, (array(3, 3), array(9, 3)), None),
    (determinant_by_cholesky, (array(3, 3),), None),
    (centres_of_trees, (jnp.ones(4), array(4)), None),
    (forces_on_parents, (array(4),), None),
    (step_that_leaves_something_unused, (Body(array(4), jnp.ones(4)), array(5, 4)), None),
    (mean_until_a_bound, (array(4),), None),
    (deltas_of_calls, (jnp.full(4, 1.1), jnp.ones(4)), None),
    (mode_where_it_is_defined, (2.0 + jnp.arange(3.0),), None),
    (kernel_matrix, (array(4, 2), array(6, 2)), {"x": "n dim", "y": "m dim"}),
]


@pytest.mark.parametrize(
    ("function", "args", "axes"), PROGRAMS, ids=lambda it: getattr(it, "__name__", "")
)
def test_a_correct_program_has_no_issue(function, args, axes):
    with jax.numpy_rank_promotion("allow"):
        report = audit_callable(function, args, {}, axes=axes, strict=True)
    assert report.issues == ()
    assert report.notes == ()


SAMPLERS = {
    "binomial": (5.0, 0.3),
    "categorical": (jnp.ones(3),),
    "choice": (5,),
    "dirichlet": (jnp.ones(3),),
    "gamma": (2.0,),
    "multivariate_normal": (jnp.zeros(2), jnp.eye(2)),
    "permutation": (jnp.arange(5),),
    "poisson": (3.0,),
    "randint": ((3,), 0, 5),
    "truncated_normal": (-1.0, 1.0),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("make", [jax.random.key, jax.random.PRNGKey])
def test_what_a_sampler_does_with_its_key_is_its_own_business(name, make):
    def draw(key):
        return getattr(jax.random, name)(key, *SAMPLERS[name])

    report = audit_callable(draw, (make(0),), {}, strict=True)
    assert report.issues == ()
