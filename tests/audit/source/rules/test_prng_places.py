"""Random keys that go through loops, maps, states and helpers: where they are told, and whether."""

import pytest

from .claims import claimed_and_found
from .reading import found

PROGRAMS = {
    "loops and maps that begin with the same keys in each turn around them": """
        def walk(i, carry):
            key, x = carry
            key, sub = jax.random.split(key)
            return key, x + jax.random.normal(sub, x.shape)

        def restarts(key, x):
            def round_of(x, r):
                _, x = lax.fori_loop(0, 4, walk, (key, x))  # RK002
                return x, r

            return lax.scan(round_of, x, jnp.arange(5))

        def shares(key, xs):
            def walker(x):
                return lax.fori_loop(0, 4, walk, (key, x))[1]  # RK003

            return jax.vmap(walker)(xs)

        def same_rows(key, x):
            keys = jax.random.split(key, 3)

            def round_of(x, r):
                noise = jax.vmap(lambda k: jax.random.normal(k, x.shape))(keys)  # RK002
                return x + noise.mean(0), r

            return lax.scan(round_of, x, jnp.arange(5))

        def goes_on(key, x):
            def round_of(carry, r):
                return lax.fori_loop(0, 4, walk, carry), r

            return lax.scan(round_of, (key, x), jnp.arange(5))

        def folds(key, x):
            keys = jax.random.split(key, 3)

            def round_of(x, r):
                own = jax.vmap(lambda k: jax.random.fold_in(k, r))(keys)
                return x + jax.vmap(lambda k: jax.random.normal(k, x.shape))(own).mean(0), r

            return lax.scan(round_of, x, jnp.arange(5))

        def evaluates(key, x, train):
            keys = jax.random.split(key, 3)
            for epoch in range(9):
                x = train(x)
                print(jax.vmap(lambda k: jax.random.normal(k, (2,)))(keys).mean() + x)
    """,
    "a key that is split again, while the one split off for the draw is left": """
        def ask(key, archive):
            key, members_key, row_key = jax.random.split(key, 3)
            members = jax.random.choice(key, archive, (6,))  # RK001
            row = jax.random.randint(row_key, (), 0, 3)
            keys = jax.random.split(key, 4)
            return members, row, jax.vmap(jax.random.normal)(keys)
    """,
    "a key that a body is bound to, and lanes of a map": """
        def body(key, i, x):
            x = x * 0.9
            return x + jax.random.normal(key, x.shape)  # RK002

        def folded(key, i, x):
            return x + jax.random.normal(jax.random.fold_in(key, i), x.shape)

        def lane(x, key):
            return x + jax.random.normal(key, x.shape)

        def run(key, x):
            first, second, third = jax.random.split(key, 3)
            x = lax.fori_loop(0, 9, functools.partial(body, first), x)
            x = lax.fori_loop(0, 9, functools.partial(folded, second), x)
            return jax.vmap(functools.partial(lane, key=third))(x)  # RK003
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
    "a loop that carries a key which is drawn from before": """
        def f(key, x):
            x = x + jax.random.normal(key, x.shape)

            def body(carry, _):
                x, key = carry
                key, sub = jax.random.split(key)
                return (x * jax.random.uniform(sub), key), None

            return lax.scan(body, (x, key), None, length=3)  # RK001
    """,
    "a loop that carries a key which is drawn from afterwards": """
        def retry(key, x):
            def body(carry):
                key, x = carry
                key, sub = jax.random.split(key)
                return key, jax.random.normal(sub, x.shape)

            _, x = lax.while_loop(lambda carry: carry[1].max() > 1.0, body, (key, x))
            return x + jax.random.normal(key, x.shape)  # RK001
    """,
    "one of the keys that all lanes have used": """
        def f(key, xs):
            keys = jax.random.split(key, 8)
            ys = jax.vmap(lambda k, x: x + jax.random.normal(k))(keys, xs)
            return ys * jax.random.uniform(keys[0])  # RK001
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
    "a key that is lent to an inner loop, and carried on": """
        def walk(key, x, n):
            def step(carry, _):
                x, key = carry
                key, sub = jax.random.split(key)
                return (x + jax.random.normal(sub), key), x

            return lax.scan(step, (x, key), None, length=n)

        def search(key, xs):
            def body(key, x):
                key, start = jax.random.split(key)
                x = x + jax.random.normal(start)
                _, path = walk(key, x, 5)
                return key, path  # RK001

            return lax.scan(body, key, xs)
    """,
    "a carried key that the loop replaces by the first one": """
        def shuffle(state, xs):
            def epoch(carry, _):
                rng, xs = carry
                rng, sub = jax.random.split(rng)
                return (state["rng"], jax.random.permutation(sub, xs)), None  # RK002

            return lax.scan(epoch, (state["rng"], xs), None, length=4)
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
    "a key that goes through two helpers, from a loop": """
        def noise(key, x):
            return x + jax.random.normal(key, x.shape)

        def step(key, x):
            return noise(key, 2 * x)

        def train(key, x):
            for _ in range(10):
                x = step(key, x)  # RK002
            return x
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
    "lanes over copies of one key": """
        class Env:
            def reset(self, key):
                return jax.random.normal(key, (2,))

        class Many:
            def __init__(self, env, n):
                self.env, self.n = env, n

            def reset(self, key):
                keys = jnp.tile(key[None], (self.n, 1))
                return jax.vmap(self.env.reset)(keys)  # RK003

        def start(key):
            return Many(Env(), 4).reset(key)
    """,
    "lanes over a list of one key": """
        def f(key, xs, n):
            keys = jnp.stack([key] * n)
            return jax.vmap(lambda k, x: x + jax.random.normal(k))(keys, xs)  # RK003
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
    "one key for all leaves of a tree, through a helper": """
        def noisy(key, x):
            return x + jax.random.normal(key, x.shape)

        def perturb(key, params):
            return jax.tree.map(lambda x: noisy(key, x), params)  # RK002

        def entry(key, params):
            return perturb(key, params)
    """,
    "a key for each leaf of a tree": """
        def perturb(key, params):
            leaves, treedef = jax.tree.flatten(params)
            keys = jax.tree.unflatten(treedef, list(jax.random.split(key, len(leaves))))
            return jax.tree.map(lambda x, k: x + jax.random.normal(k, x.shape), params, keys)

        def by_path(key, params):
            def noisy(path, x):
                return x + jax.random.normal(jax.random.fold_in(key, hash(path)), x.shape)

            return jax.tree.map_with_path(noisy, params)

        def by_iterator(key, params):
            keys = iter(jax.random.split(key, 100))
            return jax.tree.map(lambda x: x + jax.random.normal(next(keys), x.shape), params)
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
    """,
    "indices that are drawn twice": """
        def minibatch(key, xs):
            return xs[jax.random.permutation(key, 10)]

        def epochs(key, xs):
            return minibatch(key, xs), minibatch(key, xs)  # RK001
    """,
    "an array that is shuffled in each epoch": """
        def epochs(key, xs):
            for _ in range(10):
                xs = jax.random.permutation(key, xs)  # RK002
            return xs
    """,
    "shapes are asked for before anything is drawn": """
        def init(key, n):
            w_key, b_key = jax.random.split(key)
            return jax.random.normal(w_key, (n, n)), jax.random.normal(b_key, (n,))

        def f(key):
            shapes = jax.eval_shape(lambda k: init(k, 3), key)
            return init(key, 3), shapes
    """,
    "copies of a key, far from where the map over them is made": """
        class Environments:
            def __init__(self, reset, count):
                self.count = count
                self.reset_all = jax.vmap(lambda key: reset(key) + jax.random.uniform(key))

            def size(self):
                return self.count

            def reset(self, key):
                keys = jnp.broadcast_to(key, (self.count, *key.shape))
                return self.reset_all(keys)  # RK003
    """,
    "a helper that folds numbers of its own into the key of a loop": """
        def sweep(key, x):
            x = x + jax.random.normal(jax.random.fold_in(key, 0), x.shape)
            return x / x.sum()

        def run(key, x):
            return lax.fori_loop(0, 9, lambda i, x: sweep(key, x), x)  # RK002
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
    "a key that is returned as it was before a loop has used it": """
        def train(params, batches, key):
            def one(i, carry):
                key, noise_key = jax.random.split(carry["key"])
                noise = jax.random.normal(noise_key, batches[0].shape)
                return {"params": carry["params"] + batches[i] * noise, "key": key}

            last = lax.fori_loop(0, 3, one, {"params": params, "key": key})
            return (
                last["params"],
                key,  # RK001
            )

        def both(params, batches, key):
            def one(carry, batch):
                params, key = carry
                key, noise_key = jax.random.split(key)
                return (params + jax.random.normal(noise_key, batch.shape), key), None

            key, loop_key = jax.random.split(key)
            (params, _), _ = lax.scan(one, (params, loop_key), batches)
            (params, key), _ = lax.scan(one, (params, key), batches)
            return params, key
    """,
    "a key that was split and starts a loop, in a call of many lines": """
        def shrink(key, x, low, high):
            noise_key, height_key = jax.random.split(key)
            height = jax.random.uniform(height_key)

            def body(carry):
                key, low, high = carry
                key, sub = jax.random.split(key)
                return key, jax.random.uniform(sub, minval=low, maxval=high), high

            _, low, high = lax.while_loop(
                lambda carry: carry[1] < height,
                body,
                (key, low, high),  # RK001
            )
            return x + low * jax.random.normal(noise_key, x.shape)
    """,
    "a key that starts a loop of a helper, and was used before": """
        @jax.jit
        def step(key, total):
            key, sub = jax.random.split(key)
            return key, total + jax.random.normal(sub)

        def summed(key, batches):
            total = 0.0
            for batch in batches:
                key, total = step(key, total + batch)
            return total

        def scanned(key, batches):
            def one(key, batch):
                key, sub = jax.random.split(key)
                return key, batch + jax.random.normal(sub)

            return lax.scan(one, key, batches)[1]

        def compared(key, other, batches):
            expected = jax.random.normal(key), jax.random.normal(other)
            total = summed(key, batches)  # RK001
            return expected, total, scanned(other, batches)  # RK001
    """,
    "copies of one key, for the turns of a loop and for the lanes inside of one": """
        def turn(x, key):
            return x + jax.random.normal(key, x.shape), None

        def repeats(key, x):
            keys = jnp.repeat(key[None], 5, axis=0)  # RK002
            return lax.scan(turn, x, keys)

        def lanes(key, xs):
            def step(carry, _):
                key, xs = carry
                key, sub = jax.random.split(key)
                keys = jnp.stack([sub] * 4)
                xs, _ = jax.vmap(turn)(xs, keys)  # RK003
                return (key, xs), None

            return lax.scan(step, (key, xs), None, length=5)
    """,
    "a key in an object that is made outside of a map": """
        import equinox as eqx

        class Path(eqx.Module):
            key: jax.Array

            def at(self, t):
                return jax.random.normal(jax.random.fold_in(self.key, t), (3,))

        def walk(path, x):
            return lax.scan(lambda x, t: (x + path.at(t), None), x, jnp.arange(9))[0]

        def shared(key, starts):
            path = Path(key)

            def one(x):
                y = x * 2
                return walk(path, y)

            return jax.vmap(one)(starts)  # RK003

        def own(key, starts):
            def one(key, x):
                return walk(Path(key), x)

            return jax.vmap(one)(jax.random.split(key, starts.shape[0]), starts)
    """,
    "streams that lifted loops and maps leave whole": """
        import flax.linen as nn

        class Layer(nn.Module):
            @nn.compact
            def __call__(self, x, _):
                return nn.Dropout(0.1, deterministic=False)(nn.Dense(4)(x)), None

        class Layers(nn.Module):
            @nn.compact
            def __call__(self, x):
                layers = nn.scan(
                    Layer,
                    variable_axes={"params": 0},
                    split_rngs={"params": True, "dropout": False},  # RK002
                    length=3,
                )
                apart = nn.scan(
                    Layer,
                    variable_axes={"params": 0},
                    split_rngs={"params": True, "dropout": True},
                    length=3,
                )
                one_in_time = nn.scan(
                    Layer,
                    variable_broadcast="params",
                    split_rngs={"params": False, "dropout": False},
                    length=3,
                )
                heads = nn.vmap(
                    nn.Dense,
                    variable_axes={"params": 0},
                    split_rngs={"params": False},  # RK003
                    in_axes=None,
                    axis_size=2,
                )
                for it in (layers, apart, one_in_time):
                    x, _ = it()(x, None)
                return heads(4)(x)
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_keys_are_told_where_the_mistake_is(name: str):
    claimed, found = claimed_and_found(PROGRAMS[name], "prng")
    assert found == claimed


@pytest.mark.parametrize("name", ["_", "moved"])
def test_a_state_with_the_next_key_is_thrown_away(name: str):
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
    assert found("RK002", program) == [12]
    assert found("RK002", program.replace(f"{name}, tried", "plan, tried")) == []
