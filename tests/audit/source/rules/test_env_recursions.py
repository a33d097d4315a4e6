"""Recursions over rollouts whose factors come from elsewhere; comments say what is to be found."""

from .claims import check_claims, each_of
from .reading import found

PROGRAMS = {
    "a turn is handed factors that end, and takes the discount instead": """
        def corrections(values, following, rewards, done, ratios):
            discounts = 0.97 * (1.0 - done)
            errors = ratios * (rewards + discounts * following - values)
            traces = 0.95 * jnp.minimum(1.0, ratios)

            def back(later, row):
                error, discount, trace = row
                later = error + 0.97 * trace * later  # EN002
                return later, later

            rows = (errors, discounts, traces)
            return lax.scan(back, jnp.zeros(3), rows, reverse=True)[1] + values

        def right(values, following, rewards, done, ratios):
            discounts = 0.97 * (1.0 - done)
            errors = ratios * (rewards + discounts * following - values)
            traces = 0.95 * jnp.minimum(1.0, ratios)

            def back(later, row):
                error, discount, trace = row
                later = error + discount * trace * later
                return later, later

            rows = (errors, discounts, traces)
            return lax.scan(back, jnp.zeros(3), rows, reverse=True)[1] + values
    """,
    "the traces are made beside the loop, from ratios and not from flags": """
        def corrections(values, following, rewards, done, ratios):
            discounts = 0.97 * (1.0 - done)
            errors = ratios * (rewards + discounts * following - values)
            traces = 0.97 * jnp.minimum(1.0, ratios)  # EN002

            def back(later, row):
                error, trace = row
                later = error + trace * later
                return later, later

            return lax.scan(back, jnp.zeros(3), (errors, traces), reverse=True)[1] + values

        def right(values, following, rewards, done, ratios):
            discounts = 0.97 * (1.0 - done)
            errors = ratios * (rewards + discounts * following - values)
            traces = discounts * jnp.minimum(1.0, ratios)

            def back(later, row):
                error, trace = row
                later = error + trace * later
                return later, later

            return lax.scan(back, jnp.zeros(3), (errors, traces), reverse=True)[1] + values
    """,
    "one factor for all steps, as an array of the shape of factors that end": """
        def backwards(errors, factors, ratios):
            def fold(later, row):
                error, factor, ratio = row
                later = error + factor * ratio * later
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, factors, ratios), reverse=True)[1]

        def leaks(rewards, done, values, following, ratios):
            going_on = 0.99 * (1.0 - done)
            errors = rewards + going_on * following - values
            factors = jnp.full_like(going_on, 0.99)  # EN002
            return backwards(errors, factors, ratios)

        def stops(rewards, done, values, following, ratios):
            going_on = 0.99 * (1.0 - done)
            errors = rewards + going_on * following - values
            return backwards(errors, going_on * jnp.ones_like(errors), ratios)
        """,
    "corrections with a product for a factor that knows of no ends": """
        def corrections(value, following, reward, done, ratio, last):
            clipped = jnp.minimum(1.0, ratio)
            discount = 0.97 * (1.0 - done)
            delta = clipped * (reward + discount * following - value)
            decay = 0.97 * jnp.minimum(1.0, ratio)  # EN002

            def back(later, row):
                error, factor = row
                later = error + factor * later
                return later, later

            return value + lax.scan(back, jnp.zeros_like(last), (delta, decay), reverse=True)[1]
        """,
    "a memory of several parts that a cell makes, before the end is known": """
        def cell(weights, memory, x):
            c, h = memory
            gates = x @ weights["x"] + h @ weights["h"]
            i, f, o, g = jnp.split(gates, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return c, jax.nn.sigmoid(o) * jnp.tanh(c)

        def move(weights, obs, memory):
            moved = obs + 0.1 * jnp.tanh(memory[1] @ weights["policy"])
            done = jnp.linalg.norm(moved, axis=-1) > 1.0
            return jnp.where(done[:, None], 0.0, moved), done

        def keeps(weights, obs, memory):
            def step(carry, _):
                obs, memory = carry
                memory = cell(weights, memory, obs)
                obs, done = move(weights, obs, memory)
                return (obs, memory), done  # EN002

            return lax.scan(step, (obs, memory), None, length=9)

        def forgets(weights, obs, memory):
            def step(carry, _):
                obs, memory = carry
                memory = cell(weights, memory, obs)
                obs, done = move(weights, obs, memory)
                memory = tuple(jnp.where(done[:, None], 0.0, it) for it in memory)
                return (obs, memory), done

            return lax.scan(step, (obs, memory), None, length=9)

        def entry(weights, obs):
            start = (jnp.zeros((5, 4)), jnp.zeros((5, 4)))
            return keeps(weights, obs, start), forgets(weights, obs, start)
        """,
    "flags that a function is given and nothing in it reads": """
        def leaks(rewards, ends, gamma):
            last = rewards.shape[0] - 1

            def body(i, out):
                t = last - i
                later = jnp.where(t < last, out[jnp.minimum(t + 1, last)], 0.0)
                return out.at[t].set(rewards[t] + gamma * later)  # EN002

            return lax.fori_loop(0, last + 1, body, jnp.zeros_like(rewards))

        def stops(rewards, ends, gamma):
            last = rewards.shape[0] - 1

            def body(i, out):
                t = last - i
                later = jnp.where(t < last, out[jnp.minimum(t + 1, last)], 0.0)
                return out.at[t].set(rewards[t] + gamma * jnp.where(ends[t], 0.0, later))

            return lax.fori_loop(0, last + 1, body, jnp.zeros_like(rewards))

        def of_one_episode(rewards, ends, gamma):
            del ends

            def body(later, reward):
                later = reward + gamma * later
                return later, later

            return lax.scan(body, 0.0, rewards, reverse=True)[1]

        def of_many(rewards, gamma):
            def body(later, reward):
                later = reward + gamma * later
                return later, later

            return lax.scan(body, 0.0, rewards, reverse=True)[1]

        def through_a_scan(rewards, dones, gamma):
            def body(later, reward):
                later = reward + gamma * later  # EN002
                return later, later

            return lax.scan(body, jnp.zeros(3), rewards, reverse=True)[1]

        def filtered(xs, start, end, rate):
            def body(mean, x):
                mean = x + rate * mean
                return mean, mean

            return lax.scan(body, 0.0, xs)[1]
        """,
    "a recursion that stops at terminations, and not where time was up": """
        from typing import NamedTuple

        class Steps(NamedTuple):
            reward: jax.Array
            terminated: jax.Array
            truncated: jax.Array

        def advantages(rewards, discounts, values, following):
            errors = rewards + discounts * following - values
            factors = 0.9 * discounts  # EN002

            def fold(later, row):
                error, factor = row
                later = error + factor * later
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, factors), reverse=True)[1]

        def stopped(rewards, discounts, cut, values, following):
            errors = rewards + discounts * following - values

            def fold(later, row):
                error, factor = row
                later = error + factor * later
                return later, later

            factors = 0.9 * discounts * (1.0 - cut)
            return lax.scan(fold, jnp.zeros(3), (errors, factors), reverse=True)[1]

        def runs_on(steps: Steps, values, following):
            discounts = 0.99 * (1.0 - steps.terminated)
            late = steps.truncated.mean()
            return advantages(steps.reward, discounts, values, following), late

        def stops(steps: Steps, values, following):
            discounts = 0.99 * (1.0 - steps.terminated)
            return stopped(steps.reward, discounts, steps.truncated, values, following)
        """,
    "a recursion that is handed both masks, and takes one": """
        def one(reward, terminal, timeout, values, following, gamma):
            live, uncut = gamma * (1.0 - terminal), 1.0 - timeout.astype(float)
            errors = reward + live * following - values

            def fold(later, row):
                error, factor, keep = row
                later = error + 0.9 * factor * later  # EN002
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, live, uncut), reverse=True)[1]

        def both(reward, terminal, timeout, values, following, gamma):
            live, uncut = gamma * (1.0 - terminal), 1.0 - timeout.astype(float)
            errors = reward + live * following - values

            def fold(later, row):
                error, factor, keep = row
                later = error + 0.9 * factor * keep * later
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, live, uncut), reverse=True)[1]

        def both_before(reward, terminal, timeout, values, following, gamma):
            live, uncut = gamma * (1.0 - terminal), 1.0 - timeout.astype(float)
            errors = reward + live * following - values

            def fold(later, row):
                error, factor, keep = row
                later = error + 0.9 * factor * later
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, live * uncut, uncut), reverse=True)[1]

        def on_purpose(reward, done, timeout, values, following, gamma):
            live = gamma * (1.0 - done)
            errors = reward + live * following - values

            def fold(later, row):
                error, factor, _ = row
                later = error + 0.9 * factor * later
                return later, later

            return lax.scan(fold, jnp.zeros(3), (errors, live, timeout), reverse=True)[1]
        """,
    "an estimate after several rewards, which stop at an end": """
        def window(x, n):
            return jnp.stack([x[i : x.shape[0] - n + i + 1] for i in range(n)])

        def rewards_of(reward, done, n, gamma):
            alive = jnp.cumprod(1.0 - window(done, n), axis=0)
            before = jnp.concatenate([jnp.ones_like(alive[:1]), alive[:-1]])
            powers = gamma ** jnp.arange(n)[:, None]
            return jnp.sum(powers * before * window(reward, n), axis=0), alive[-1]

        def leaks(reward, done, value, gamma):
            paid, alive = rewards_of(reward, done, 3, gamma)
            return paid + gamma**3 * value[3:]  # EN005

        def stops(reward, done, value, gamma):
            paid, alive = rewards_of(reward, done, 3, gamma)
            return paid + gamma**3 * alive * value[3:]

        def is_masked_later(reward, done, value, gamma):
            paid, alive = rewards_of(reward, done, 3, gamma)
            return jnp.where(alive > 0, paid + gamma**3 * value[3:], paid)
        """,
}


@each_of(PROGRAMS)
def test_programs_have_what_they_claim(program: str):
    check_claims(program, "env")


CORRECTED = """
    def corrections(value, last, reward, done, ratio):
        discount = 0.97 * (1.0 - done)
        following = jnp.concatenate([value[1:], last[None]])
        delta = jnp.minimum(1.0, ratio) * (reward + discount * following - value)
        decay = 0.97 * jnp.minimum(1.0, ratio)

        def back(total, turn):
            error, share = turn
            total = error + share * total
            return total, total

        return lax.scan(back, jnp.zeros_like(last), (delta, decay), reverse=True)[1]
"""


def test_a_factor_that_is_made_before_the_recursion_is_mended_there():
    assert found("EN002", CORRECTED) == [5]
    assert found("EN002", CORRECTED.replace("decay = 0.97", "decay = discount")) == []
