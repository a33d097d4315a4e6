"""Wrong programs in other words than those of the rules' documentation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax.audit.run import audit_callable

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def array(*shape):
    return jnp.asarray(RNG.normal(size=shape).astype(np.float32))


def weights_in_other_order(x, weights):
    return jnp.einsum("tbf,tb->f", x, weights)


def heads_before_time(x):
    batch, time, width = x.shape
    return x.reshape(batch, 2, time, width // 2).sum(2)


def bootstrap_kept_as_a_column(q, rewards):
    best = q.max(axis=-1, keepdims=True)
    return jnp.mean((rewards + 0.9 * best - 1.0) ** 2)


def effort(actions):
    return jnp.sum(actions**2, axis=-1, keepdims=True)


def reward_of_a_column(gaps, actions):
    return jnp.mean(jnp.exp(-gaps) - 0.1 * effort(actions))


def reward_of_a_column_that_others_need(gaps, actions):
    unit = actions / effort(actions)
    return jnp.mean(gaps - effort(unit))


def returns_over_environments(rewards):
    def step(total, reward):
        total = reward + 0.9 * total
        return total, total

    return lax.scan(step, jnp.zeros(5), rewards, reverse=True)[1]


def loop_that_stands_still(state, xs):
    def body(i, state):
        new = 0.9 * state + xs[i]  # noqa: F841
        return state

    return lax.fori_loop(0, 7, body, state)


def noise_of_a_fori_loop(key, x):
    return lax.fori_loop(0, 5, lambda i, x: x + jax.random.normal(key, x.shape), x)


def one_child_for_two(key, x):
    first, _ = jax.random.split(key)

    def noise(key):
        return jax.random.normal(key, x.shape)

    return noise(first) + noise(first)


def shared_by_closure(key):
    return jax.vmap(lambda i: i + jax.random.uniform(key))(jnp.arange(4.0))


def rounded_loss(w, x):
    return jax.grad(lambda w: jnp.mean(jnp.round(x @ w) ** 2))(w)


def moving_target(w, obs, next_obs, rewards):
    def loss(w):
        target = rewards + 0.99 * jnp.max(next_obs @ w, axis=-1)
        return jnp.mean(jnp.abs((obs @ w)[:, 0] - target))

    return jax.value_and_grad(loss)(w)


def rule_without_a_term(x):
    @jax.custom_jvp
    def growth(x):
        return x * jnp.exp(x)

    growth.defjvp(lambda primals, tangents: (growth(*primals), jnp.exp(primals[0]) * tangents[0]))
    return jax.grad(lambda x: growth(x).sum())(x)


def softmax_of_probabilities(logits):
    probabilities = jax.nn.softmax(logits)
    return -jax.nn.log_softmax(probabilities)[:, 0].mean()


def frames_apart(a, b):
    return jnp.abs(a - b).astype(jnp.float32).mean()


def forgotten_whitening(x, mean, std):
    white = (x - mean) / (std + 1e-6)  # noqa: F841
    return jnp.tanh(x).sum(-1)


def memory_across_episodes(x, done, w):
    def step(h, inp):
        x_t, done_t = inp
        h = jnp.tanh(x_t[:, None] * w + h)
        return h, jnp.where(done_t[:, None], 0.0, h).sum(-1)

    return lax.scan(step, jnp.zeros((3, 4)), (x, done))


def memory_past_a_mark(x, first, w):
    def think(h, x_t):
        return jnp.tanh(h @ w + x_t[:, None])

    def step(h, inp):
        x_t, mark = inp
        h = think(h, x_t)
        return h, jnp.where(mark, 0.0, h.sum(-1))

    return lax.scan(step, jnp.zeros((3, 4)), (x, first))


def errors_past_factors_of_flags(errors, weights, done):
    def of_one(errors, weights, going):
        def fold(later, inp):
            error, weight, factor = inp
            later = error + 0.9 * weight * later
            return later, (later, factor)

        return lax.scan(fold, 0.0, (errors, weights, going), reverse=True)[1]

    return jax.vmap(of_one, in_axes=1)(errors, weights, 0.9 * (1.0 - done))


def reset_by_any(pos, fresh):
    done = jnp.linalg.norm(pos, axis=-1) > 2
    return jnp.where(done.any(), fresh, pos)


def reset_unless_all_go_on(pos, fresh):
    alive = jnp.linalg.norm(pos, axis=-1) < 2
    return lax.switch((~jnp.all(alive)).astype(int), [lambda: pos, lambda: fresh])


def reset_if_not_none_is_through(pos, fresh):
    over = (jnp.linalg.norm(pos, axis=-1) > 2).sum(keepdims=True) == 0
    return jnp.where(over[:, None], pos, fresh)


def own_gradients(w, x, y):
    def step(w, x, y):
        return w - 0.1 * jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)

    return jax.vmap(step, in_axes=(None, 0, 0), axis_name="devices")(w, x, y)


def reference_of_one(envs):
    def score(envs):
        reference = envs[0]
        return ((envs - reference) ** 2).sum()

    return jax.vmap(score)(envs)


PIXELS = jnp.zeros((4, 4), jnp.uint8)
DONE = jnp.zeros((6, 3), bool)


def counts_back_by_the_number_of_rows(signals):
    def back(i, level):
        return 0.9 * level + signals[:, signals.shape[0] - 1 - i]

    return lax.fori_loop(0, signals.shape[0], back, jnp.zeros(signals.shape[0]))


def numbers_of_all_for_each(strikes, volatilities):
    def value(strike, volatility):
        return jnp.sum(jnp.tanh(strike * volatility))

    return jax.vmap(value, in_axes=(0, None))(strikes, volatilities)


PROGRAMS = [
    (counts_back_by_the_number_of_rows, (array(3, 8),), {"signals": "row time"}, "SC004"),
    (
        weights_in_other_order,
        (array(5, 5, 3), array(5, 5)),
        {"x": "time batch feat", "weights": "batch time"},
        "AX001",
    ),
    (heads_before_time, (array(4, 8, 6),), {"x": "batch time feat"}, "AX003"),
    (bootstrap_kept_as_a_column, (array(6, 4), array(6)), None, "AX002"),
    (returns_over_environments, (array(5, 5),), {"rewards": "env time"}, "AX005"),
    (loop_that_stands_still, (array(3), array(7, 3)), None, "SC002"),
    (noise_of_a_fori_loop, (KEY, array(5)), None, "RK002"),
    (one_child_for_two, (KEY, array(5)), None, "RK001"),
    (shared_by_closure, (KEY,), None, "RK003"),
    (rounded_loss, (array(4), array(8, 4)), None, "GR010"),
    (moving_target, (array(4, 3), array(8, 4), array(8, 4), array(8)), None, "GR014"),
    (rule_without_a_term, (array(5),), None, "GR017"),
    (softmax_of_probabilities, (array(8, 3),), None, "DF102"),
    (frames_apart, (PIXELS, PIXELS), None, "DF202"),
    (forgotten_whitening, (array(6, 4), array(4), array(4)), None, "DF101"),
    (memory_across_episodes, (array(6, 3), DONE, array(3, 4)), None, "EN002"),
    (memory_past_a_mark, (array(6, 3), DONE, array(4, 4)), None, "EN002"),
    (errors_past_factors_of_flags, (array(6, 3), array(6, 3), DONE), None, "EN002"),
    (reset_by_any, (array(4, 2), array(4, 2)), None, "EN001"),
    (reset_unless_all_go_on, (array(4, 2), array(4, 2)), None, "EN001"),
    (reset_if_not_none_is_through, (array(4, 2), array(4, 2)), None, "EN001"),
    (own_gradients, (array(3), array(2, 4, 3), array(2, 4)), None, "VM004"),
    (
        numbers_of_all_for_each,
        (array(5), array(5)),
        {"strikes": "option", "volatilities": "option"},
        "VM002",
    ),
    (reference_of_one, (array(4, 6, 2),), {"envs": "env time dim"}, "VM003"),
]


@pytest.mark.parametrize(
    ("function", "args", "axes", "code"),
    PROGRAMS,
    ids=[function.__name__ for function, *_ in PROGRAMS],
)
def test_a_wrong_program_is_found_at_its_own_lines(function, args, axes, code):
    with jax.numpy_rank_promotion("allow"):
        report = audit_callable(function, args, {}, axes=axes, strict=True)
    found = {issue.code: issue for issue in report.issues}
    assert code in found, str(report)
    first = function.__code__.co_firstlineno
    assert found[code].place.file == __file__
    assert first < found[code].place.line < first + 14


def test_a_memory_that_goes_on_is_told_where_the_loop_calls_its_network():
    given = (array(6, 3), DONE, array(4, 4))
    report = audit_callable(memory_past_a_mark, given, {}, strict=True)
    (issue,) = [it for it in report.issues if it.code == "EN002"]
    assert issue.place.line == memory_past_a_mark.__code__.co_firstlineno + 6


def test_a_column_is_told_where_a_function_keeps_it_for_one_call_alone():
    lines: list[int] = []
    for function in (reward_of_a_column, reward_of_a_column_that_others_need):
        with jax.numpy_rank_promotion("allow"):
            report = audit_callable(function, (array(5), array(5, 3)), {}, strict=True)
        lines += [it.place.line for it in report.issues if it.code == "AX002"]
    other = reward_of_a_column_that_others_need.__code__.co_firstlineno + 2
    assert lines == [effort.__code__.co_firstlineno + 1, other]
