"""Random keys in loops, maps and trees: where they are told, and whether."""

import pytest

from .claims import claimed_and_found

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
    "an array that is shuffled in each epoch": """
        def epochs(key, xs):
            for _ in range(10):
                xs = jax.random.permutation(key, xs)  # RK002
            return xs
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
    "noise of lanes and turns that share their weights": """
        import flax.linen as nn

        class Noise(nn.Module):
            @nn.compact
            def __call__(self, x):
                key, _ = jax.random.split(self.make_rng("noise"))
                return x + jax.random.normal(key, x.shape)

        class Draw(nn.Module):
            @nn.compact
            def __call__(self, carry, x):
                mean = nn.Dense(4)(carry + x)
                mask = jax.random.bernoulli(self.make_rng("mask"), 0.9, mean.shape)
                return Noise()(mean), mask * mean

        class Each(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        class Model(nn.Module):
            @nn.compact
            def __call__(self, start, xs):
                lanes = nn.vmap(
                    Draw,
                    variable_axes={"params": None},
                    split_rngs={"params": False, "mask": False, "noise": False},  # RK003
                )
                turns = nn.scan(
                    Draw,
                    variable_broadcast="params",
                    split_rngs={"params": False, "mask": False, "noise": False},  # RK002
                )
                apart = nn.vmap(
                    Draw,
                    variable_axes={"params": None},
                    split_rngs={"params": False, "mask": False, "noise": True},
                )
                other = nn.vmap(
                    Each,
                    variable_axes={"params": None},
                    split_rngs={"params": False, "noise": False},
                )
                for it in (lanes, turns, apart):
                    start, _ = it()(start, xs)
                return other()(start)
    """,
    "a helper gives the next key back, and the body drops it": """
        import typing

        class Plan(typing.NamedTuple):
            mean: jax.Array
            rng: jax.Array

        def propose(plan):
            rng, sub = jax.random.split(plan.rng)
            return plan._replace(rng=rng), plan.mean + jax.random.normal(sub, (5, 2))

        def improve(plan, _):
            _, drawn = propose(plan)  # RK002
            costs = (drawn ** 2).sum(-1)
            plan = plan._replace(mean=drawn[jnp.argmin(costs)])
            return plan, costs

        def advance(plan, _):
            plan, drawn = propose(plan)
            return plan._replace(mean=drawn[0]), drawn

        def search(key, other):
            first = lax.scan(improve, Plan(jnp.zeros(2), key), None, length=3)
            return first, lax.scan(advance, Plan(jnp.zeros(2), other), None, length=3)
    """,
    "a helper gives the next key back, which has a name and is not handed on": """
        import typing

        class Walk(typing.NamedTuple):
            place: jax.Array
            root: jax.Array

        def take(walk):
            root, sub = jax.random.split(walk.root)
            return root, sub

        def turn(walk, _):
            root, sub = take(walk)
            noise = jax.random.normal(sub, walk.place.shape)
            place = walk.place + 0.1 * noise
            pushed = jnp.tanh(place)
            return walk._replace(place=pushed), pushed  # RK002

        def run(key):
            return lax.scan(turn, Walk(jnp.zeros(2), key), None, length=3)
    """,
    "nobody makes a next key: the body hands the old one on": """
        def draw(key):
            return jax.random.normal(key, (3,))

        def walk(state, _):
            x, key = state
            x = x + draw(key)
            return (x, key), x.sum()  # RK002

        def run(key):
            return lax.scan(walk, (jnp.zeros(3), key), None, length=3)
    """,
    "an object counts the turns of a loop": """
        class Loader:
            def __init__(self, key, data):
                self.base, self.data, self.step = key, data, 0

            def __iter__(self):
                while True:
                    key = jax.random.fold_in(self.base, self.step)
                    yield jax.random.permutation(key, self.data)
                    self.step += 1

        class Noise:
            def __init__(self, key, start):
                self.base, self.step, self.calls = key, start, 0

            def draw(self):
                key = jax.random.fold_in(self.base, self.step + 1)
                self.step = self.step + 1
                return jax.random.normal(key)

            def several(self):
                return [self.draw() for _ in range(5)]

            def seeded(self):
                drawn = []
                for _ in range(5):
                    drawn.append(jax.random.normal(jax.random.key(self.calls)))
                    self.calls += 1
                return drawn

            def same(self):
                drawn = []
                for _ in range(5):
                    drawn.append(jax.random.normal(self.base))  # RK002
                    drawn.append(jax.random.normal(jax.random.fold_in(self.base, 1)))  # RK002
                    drawn.append(jax.random.normal(jax.random.key(3)))  # RK005
                    self.calls += 1
                return drawn

        def kept_in_a_dict(key, state):
            for _ in range(5):
                print(jax.random.normal(jax.random.fold_in(key, state["step"])))
                state["step"] += 1

        def of_another(key, state):
            for _ in range(5):
                print(jax.random.normal(jax.random.fold_in(key, state["epoch"])))  # RK002
                state["step"] += 1
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_keys_are_told_where_the_mistake_is(name: str):
    claimed, found = claimed_and_found(PROGRAMS[name], "prng")
    assert found == claimed
