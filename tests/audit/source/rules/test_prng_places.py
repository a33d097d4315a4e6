"""Random keys that go through loops, maps, states and helpers: where they are told, and whether."""

import pytest

from .claims import claimed_and_found
from .reading import found

PROGRAMS = {
    "a key that is split again, while the one split off for the draw is left": """
        def ask(key, archive):
            key, members_key, row_key = jax.random.split(key, 3)
            members = jax.random.choice(key, archive, (6,))  # RK001
            row = jax.random.randint(row_key, (), 0, 3)
            keys = jax.random.split(key, 4)
            return members, row, jax.vmap(jax.random.normal)(keys)
    """,
    "a key that two functions take out of one record": """
        def time(batch):
            return jax.random.uniform(batch.key, batch.x.shape[:1])

        def noise(batch):
            return jax.random.normal(batch.key, batch.x.shape)  # RK001

        def loss(batch):
            t = time(batch)
            return (noise(batch) * t[:, None] - batch.x).mean()
    """,
    "a key that stays what it was, in a state over many lines": """
        def sweep(i, loop):
            first, second, _ = jax.random.split(loop["key"], 3)
            return {
                "x": loop["x"] + jax.random.normal(first, (3,)),
                "scale": loop["scale"] * jax.random.uniform(second),
                "key": loop["key"],  # RK002
            }

        def run(key, x):
            return lax.fori_loop(0, 9, sweep, {"x": x, "scale": 1.0, "key": key})
    """,
    "a key that is kept where the draw is rejected": """
        def chain(key, x):
            def move(state):
                x, key, taken = state
                new_key, sub = jax.random.split(key)
                candidate = x + jax.random.normal(sub, x.shape)
                accept = candidate.sum() > x.sum()
                return lax.cond(
                    accept,
                    lambda: (candidate, new_key, taken + 1),
                    lambda: (x, key, taken),  # RK002
                )

            return lax.while_loop(lambda state: state[2] < 9, move, (x, key, 0))

        def by_choice(key, x):
            def move(carry, _):
                x, key = carry
                new_key, sub = jax.random.split(key)
                step = jax.random.normal(sub, x.shape)
                is_far = jnp.abs(step).max() > 2.0
                return (jnp.where(is_far, x, x + step), jnp.where(is_far, key, new_key)), x  # RK002

            return lax.scan(move, (x, key), None, length=9)

        def when_needed(key, x):
            def move(carry, t):
                x, key = carry
                new_key, sub = jax.random.split(key)
                is_due = t % 3 == 0
                moved = x + jax.random.normal(sub, x.shape)
                return (jnp.where(is_due, moved, x), jnp.where(is_due, new_key, key)), x

            return lax.scan(move, (x, key), jnp.arange(9))
    """,
    "a key that stays what it was in a state with a name": """
        def step(state, x):
            new, sub = jax.random.split(state["key"])
            next_state = dict(
                x=state["x"] + jax.random.normal(sub, x.shape),
                key=state["key"],  # RK002
            )
            return next_state, x.sum()

        def run(key, xs):
            return lax.scan(step, {"x": xs[0], "key": key}, xs)
    """,
    "a key that is returned, while the one split off for the draw is left": """
        def accept(state, ratio):
            key, start_key, accept_key = jax.random.split(state["key"], 3)
            x = state["x"] + jax.random.normal(start_key, ratio.shape)
            taken = jax.random.uniform(key, ratio.shape) < ratio  # RK001
            return {"key": key, "x": jnp.where(taken, x, state["x"])}
    """,
    "a key that is returned, with another one left on purpose": """
        def accept(state, ratio):
            key, _, accept_key = jax.random.split(state["key"], 3)
            taken = jax.random.uniform(accept_key, ratio.shape) < ratio
            return {"key": key, "x": jnp.where(taken, 1.0, state["x"])}
    """,
    "the only child of a split, given to a kernel and handed on": """
        def search(key, make_kernel, state):
            def update(carry):
                key, size = carry
                _, key = jax.random.split(key)
                rate = make_kernel(size)(key, state)  # RK001
                return key, jnp.where(rate > 0.8, size * 2.0, size / 2.0)

            return lax.while_loop(lambda carry: carry[1] > 0.1, update, (key, 1.0))
    """,
    "one key for two functions that are compared": """
        def compare(one, other):
            key = jax.random.key(0)
            return one(key) - other(key)
    """,
    "all keys, after one of them": """
        def f(key, xs):
            keys = jax.random.split(key, 8)
            scale = jax.random.uniform(keys[0])
            return jax.vmap(lambda k, x: x + scale * jax.random.normal(k))(keys, xs)  # RK001
    """,
    "the other keys, after one of them": """
        def f(key, xs):
            keys = jax.random.split(key, 9)
            scale = jax.random.uniform(keys[0])
            return jax.vmap(lambda k, x: x + scale * jax.random.normal(k))(keys[1:], xs)
    """,
    "a state whose new key a function of the body forgets": """
        def kick(state):
            key, sub = jax.random.split(state["key"])
            moved = state["x"] + jax.random.normal(sub, state["x"].shape)
            return {"x": moved, "key": state["key"]}  # RK002

        def drift(state):
            return {**state, "x": state["x"] * 0.9}

        def run(key, x):
            def body(state, _):
                state = drift(kick(state))
                return state, state["x"]

            return lax.scan(body, {"key": key, "x": x}, None, length=5)
    """,
    "an agent that explores and keeps its key": """
        from typing import NamedTuple

        class Agent(NamedTuple):
            w: jax.Array
            key: jax.Array

        def explore(agent, x):
            _, sub = jax.random.split(agent.key)
            return x + jax.random.normal(sub), Agent(agent.w * 0.9, agent.key)  # RK001

        def learn(agent, x):
            key, sub = jax.random.split(agent.key)
            return Agent(agent.w + x * jax.random.normal(sub), key)

        def iterate(w, key, x):
            x, agent = explore(Agent(w, key), x)
            return learn(agent, x)
    """,
    "an environment that resets itself with the key that it goes on with": """
        from flax import struct

        @struct.dataclass
        class State:
            x: jax.Array
            key: jax.Array

        def reset(key):
            key, sub = jax.random.split(key)
            return State(x=jax.random.normal(sub), key=key)

        def step(state, action):
            key, sub = jax.random.split(state.key)
            return state.replace(x=state.x + action * jax.random.normal(sub), key=key)

        def auto_reset(state, action):
            state = step(state, action)
            fresh = reset(state.key).replace(key=state.key)
            return jax.tree.map(lambda a, b: jnp.where(state.x > 1, a, b), fresh, state)  # RK001

        def right(state, action):
            state = step(state, action)
            key, reset_key = jax.random.split(state.key)
            fresh, state = reset(reset_key), state.replace(key=key)
            return jax.tree.map(lambda a, b: jnp.where(state.x > 1, a, b), fresh, state)

        def rollout(key, actions):
            return lax.scan(lambda s, a: (auto_reset(s, a), a), reset(key), actions)

        def right_rollout(key, actions):
            return lax.scan(lambda s, a: (right(s, a), a), reset(key), actions)
    """,
    "a model of haiku that is asked for several opinions": """
        import haiku as hk

        model = hk.transform(lambda x: hk.dropout(hk.next_rng_key(), 0.5, x))

        def opinions(params, key, x):
            return [model.apply(params, key, x) for _ in range(8)]  # RK002

        def others(params, key, x):
            return [model.apply(params, k, x) for k in jax.random.split(key, 8)]
    """,
    "a child that is used twice, of a key that is used twice": """
        def run(env, policy, params, key):
            obs, state = env.reset(key)
            for _ in range(100):
                key, sub = jax.random.split(key)  # RK001
                action = policy.apply(params, obs, rngs={"sample": sub})
                obs, state = env.step(sub, state, action)  # RK001
            return obs
    """,
    "a key that is split twice is told once": """
        def f(key, x):
            _, sub = jax.random.split(key)
            x = x + jax.random.normal(sub, x.shape)
            _, sub = jax.random.split(key)  # RK001
            return x * jax.random.normal(sub, x.shape)
    """,
    "layers of nnx from one key": """
        from flax import nnx

        def build(key):
            first = nnx.Linear(3, 3, rngs=nnx.Rngs(key))
            return first, nnx.Linear(3, 3, rngs=nnx.Rngs(key))  # RK001

        def fine(key):
            rngs = nnx.Rngs(key)
            return nnx.Linear(3, 3, rngs=rngs), nnx.Linear(3, 3, rngs=rngs)
    """,
    "an object that never moves its key on": """
        class Buffer:
            def __init__(self, seed):
                self.key = jax.random.PRNGKey(seed)

            def sample(self, xs):
                _, key = jax.random.split(self.key)  # RK002
                return jax.random.choice(key, xs)

        def train(xs):
            buffer = Buffer(0)
            total = 0.0
            for _ in range(10):
                total = total + buffer.sample(xs)
            return total
    """,
    "a key that a function in the loop's own function closes over": """
        def train(key, x):
            def step(x):
                return x + jax.random.normal(key, x.shape)  # RK002

            for _ in range(10):
                x = step(x)
            return x

        def entry(key, x):
            return train(key, x)
    """,
    "a list that holds one key again and again": """
        def f(key, leaves):
            keys = [key for _ in range(len(leaves))]
            return [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys)]  # RK002
    """,
    "a list of children": """
        def f(key, leaves):
            keys = [k for k in jax.random.split(key, len(leaves))]
            return [x + jax.random.normal(k, x.shape) for x, k in zip(leaves, keys)]
    """,
    "arrays that are shuffled alike": """
        def of_tree(key, batch):
            return jax.tree.map(lambda x: jax.random.permutation(key, x), batch)

        def of_known_tree(key, x, y):
            return jax.tree.map(lambda it: jax.random.permutation(key, it), {"x": x, "y": y})

        def of_two(key, x, y):
            return jax.random.permutation(key, x), jax.random.permutation(key, y)

        def of_all(key, *arrays):
            return [jax.random.permutation(key, x) for x in arrays]

        def of_fields(key, batch):
            return {name: jax.random.permutation(key, it) for name, it in batch.items()}

        def of_leaves(key, batch):
            return jax.tree.map(functools.partial(jax.random.permutation, key), batch)

        def resampled(key, x, y):
            rows = jax.random.choice(key, x, (x.shape[0],))
            return rows, jax.random.choice(key, y, (y.shape[0],))

        def at_indices(key, x, y):
            order = jax.random.permutation(key, x.shape[0])
            same = jax.random.permutation(key, y.shape[0])
            return x[order], jnp.take(y, same, axis=0)

        def sampled(key, x, y):
            some = x[jax.random.randint(key, (4,), 0, len(x))]
            return some, y[jax.random.randint(key, (4,), 0, len(y))]

        def entry(key, x, y):
            for one in (of_tree, of_fields, of_leaves):
                key, sub = jax.random.split(key)
                print(one(sub, {"x": x, "y": y}))
            for one in (of_known_tree, of_two, of_all, resampled, at_indices, sampled):
                key, sub = jax.random.split(key)
                print(one(sub, x, y))

        def inputs():
            return jax.random.key(0), jnp.ones((6, 2)), jnp.ones(6)
    """,
    "an array that is shuffled twice, and indices": """
        def of_one(key, x):
            return jax.random.permutation(key, x), jax.random.permutation(key, x)  # RK001

        def of_numbers(key, x):
            return jax.random.permutation(key, x.shape[0]), jax.random.permutation(key, 6)  # RK001

        def rows(key, x, y):
            return jax.random.choice(key, x, (4,)), jax.random.choice(key, y, (5,))  # RK001

        def more(key, x, y):
            some = x[jax.random.randint(key, (4,), 0, 6)]
            return some, y[jax.random.randint(key, (5,), 0, 6)]  # RK001

        def multiplied(key, x, y):
            order = jax.random.permutation(key, 6)
            return x[order], order * y[jax.random.permutation(key, 6)]  # RK001

        def entry(key, x):
            a, b, c, d, e = jax.random.split(key, 5)
            found = of_one(a, x), of_numbers(b, x), rows(c, x, x * 2), more(d, x, x * 2)
            return found, multiplied(e, x, x[:, 0] * 2)

        def inputs():
            return jax.random.key(0), jnp.ones((6, 2))
    """,
    "indices that are drawn twice": """
        def minibatch(key, xs):
            return xs[jax.random.permutation(key, 10)]

        def epochs(key, xs):
            return minibatch(key, xs), minibatch(key, xs)  # RK001
    """,
    "shapes are asked for before anything is drawn": """
        def init(key, n):
            w_key, b_key = jax.random.split(key)
            return jax.random.normal(w_key, (n, n)), jax.random.normal(b_key, (n,))

        def f(key):
            shapes = jax.eval_shape(lambda k: init(k, 3), key)
            return init(key, 3), shapes
    """,
    "a child, drawn from again after its parent was": """
        def f(key, x):
            a, b = jax.random.split(key)
            x = x + jax.random.normal(a) + jax.random.normal(b)
            x = x + jax.random.normal(key)  # RK001
            return x + jax.random.normal(b)  # RK001
    """,
    "a rule of derivatives that draws again what its function drew": """
        @functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
        def sample(key, rate):
            def body(carry):
                key, x = carry
                key, sub = jax.random.split(key)
                return key, x + jax.random.exponential(sub)

            return lax.while_loop(lambda carry: carry[1] < rate, body, (key, 0.0))[1]

        @sample.defjvp
        def sample_jvp(key, primals, tangents):
            (rate,), (dot,) = primals, tangents
            return sample(key, rate), dot

        def f(key, rate):
            return sample(key, rate)
    """,
    "a used key that is handed through methods, which are compiled": """
    class Env:
        def __init__(self, states):
            self.states = states

        @functools.partial(jax.jit, static_argnums=0)
        def noise(self, key):
            _, key = jax.random.split(key)
            return jax.random.normal(key, (3,))

        @functools.partial(jax.jit, static_argnums=0)
        def start(self, state, key):
            return state + self.noise(key)

        def reset(self, key):
            index = jax.random.randint(key, (), 0, 10)
            return self.start(self.states[index], key)  # RK001
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_keys_are_told_where_the_mistake_is(name: str):
    claimed, found = claimed_and_found(PROGRAMS[name], "prng")
    assert found == claimed


@pytest.mark.parametrize(("name", "line"), [("_", 12), ("moved", 14)])
def test_a_state_with_the_next_key_is_thrown_away(name: str, line: int):
    program = f"""
    from typing import NamedTuple

    class Plan(NamedTuple):
        mean: jax.Array
        rng: jax.Array

    def propose(plan):
        rng, sub = jax.random.split(plan.rng)
        return plan._replace(rng=rng), plan.mean + jax.random.normal(sub, (4,))

    def iterate(plan, _):
        {name}, tried = propose(plan)
        best = tried.max()
        plan = plan._replace(mean=plan.mean + best)
        return plan, best

    def main(key):
        return lax.scan(iterate, Plan(jnp.zeros(4), key), None, length=5)
    """
    assert found("RK002", program) == [line]
    assert found("RK002", program.replace(f"{name}, tried", "plan, tried")) == []
