"""Keys that are used once, however it may look."""

import pytest

from .random_keys import found

FINE = {
    "clones, which are made to give the same numbers once more": """
        def f(key, x):
            first = jax.random.normal(key, x.shape)
            again = jax.random.normal(jax.random.clone(key), x.shape)
            return first, again, jax.random.normal(jax.random.clone(key=key), x.shape)

        def each(key, xs):
            def body(total, x):
                return total + x * jax.random.normal(jax.random.clone(key), x.shape), None

            noise = [jax.random.normal(jax.random.clone(key)) for _ in range(9)]
            return jax.lax.scan(body, 0.0, xs), noise
    """,
    "a key of its own for each that Python maps or folds": """
        def mapped(key, sizes):
            keys = jax.random.split(key, len(sizes))
            return list(map(lambda k, n: jax.random.normal(k, (n,)), keys, sizes))

        def folded(key, x):
            keys = jax.random.split(key, 9)
            return functools.reduce(lambda y, k: y + jax.random.normal(k, x.shape), keys, x)

        def walked(key, steps):
            def turn(state, step):
                key, x = state
                key, sub = jax.random.split(key)
                return key, x + step * jax.random.normal(sub)

            return functools.reduce(turn, steps, (key, 0.0))
    """,
    "a module of which the key is replaced with the rest": """
        import equinox as eqx

        class Walk(eqx.Module):
            place: jax.Array
            key: jax.Array

        class Search(eqx.Module):
            walk: Walk
            steps: list

        def f(place, key):
            def body(search, _):
                key, sub = jax.random.split(search.walk.key)
                place = search.walk.place + jax.random.normal(sub, place.shape)
                search = eqx.tree_at(lambda it: [it.walk.place, it.walk.key], search, [place, key])
                return eqx.tree_at(lambda it: it.steps[0], search, place), None

            return jax.lax.scan(body, Search(Walk(place, key), [place]), None, length=5)
    """,
    "all but the last of some keys, and the last": """
        def layers(key, n):
            first, *rest = jax.random.split(key, 4)
            inner = [jax.random.normal(k, (n, n)) for k in rest[:-1]]
            return jax.random.normal(first, (n,)), inner, jax.random.normal(rest[-1], (n,))

        def others(key, n):
            keys = jax.random.split(key, 5)
            return jax.random.normal(keys[3], (n,)) + jax.random.normal(keys[-1], (n,))
    """,
    "a factory that uses the key on another way than the function it gives": """
        def make(key, n, is_fixed):
            if is_fixed:
                start = jax.random.normal(key, (n,))
                return lambda x: x + start

            def step(x):
                return x + jax.random.normal(key, (n,))

            return step
    """,
    "keys that several functions make of one seed": """
        def noise(seed, n):
            return jax.random.normal(jax.random.key(seed), (n,))

        def evaluate(config, params, n):
            return params + noise(config.seed, n)

        def train(config, n):
            params = jax.random.normal(jax.random.key(config.seed), (n,))
            return evaluate(config, params, n)
    """,
    "an iterator of keys": """
        class Keys:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def __next__(self):
                self.key, fresh = jax.random.split(self.key)
                return fresh

        def f(seed, n):
            keys = Keys(seed)
            x = jax.random.normal(next(keys)) + jax.random.normal(next(keys))
            for _ in range(n):
                x = x + jax.random.normal(next(keys))
            return x
    """,
    "policies that all play the same episodes": """
        def play(weights, key):
            k_start, k_noise = jax.random.split(key)
            obs = jax.random.normal(k_start, (4,))
            action = jnp.tanh(obs @ weights["w"] + weights["b"])
            return jnp.sum(action + jax.random.normal(k_noise, action.shape))

        def compare(population, key):
            return jax.vmap(play, in_axes=(0, None))(population, key)
    """,
    "a key for each of several tries that have nothing to do with each other": """
        def f(models, batch, key):
            out = []
            for model in models:
                out.append(model.apply(model.params, batch, rngs={"dropout": key}))
            return out
    """,
    "sizes with their neighbours": """
        def init(key):
            sizes = (4, 8, 2)
            keys = jax.random.split(key, 2)
            return [jax.random.normal(k, (i, o)) for k, i, o in zip(keys, sizes, sizes[1:])]
        """,
    "exclusive branches": """
        def f(key, x, heavy):
            if heavy:
                return x + jax.random.laplace(key, x.shape)
            return x + jax.random.normal(key, x.shape)
        """,
    "branches of cond": """
        def f(key, x, flag):
            return jax.lax.cond(
                flag,
                lambda: x + jax.random.normal(key, x.shape),
                lambda: x + jax.random.uniform(key, x.shape),
            )
        """,
    "a list of keys by position": """
        def f(key, n):
            keys = list(jax.random.split(key, n))
            first, second, *rest = keys
            return jax.random.normal(first) + jax.random.normal(second) + jax.random.normal(rest[0])
        """,
    "expressions with opposite conditions": """
        import equinox as eqx

        class Block(eqx.Module):
            def __init__(self, fused, *, key):
                self.fused = fused
                self.deep = eqx.nn.Linear(3, 4, key=key) if not self.fused else None
                self.wide = None if not self.fused else eqx.nn.Linear(3, 4, key=key)
        """,
    "keys that a list gives away": """
        def f(key, depths):
            first, *keys = jax.random.split(key, 1 + len(depths))
            second = keys.pop(0)
            drawn = [jax.random.normal(it) for it in (first, second)]
            return drawn + [jax.random.normal(it, (depth,)) for depth, it in zip(depths, keys)]

        def last_first(key):
            keys = list(jax.random.split(key, 3))
            return jax.random.normal(keys.pop()) + jax.random.normal(keys.pop())
        """,
    "a key that a module takes as an argument": """
        from flax import linen as nn

        class Selection(nn.Module):
            @nn.compact
            def __call__(self, key, x):
                return nn.Dense(4)(x) + jax.random.normal(key, (4,))

        class Search:
            def __init__(self):
                self.selection = Selection()

            def tell(self, key, params, x):
                return self.selection.apply(params, key, x)
        """,
    "a key that self moves on": """
        class Env:
            def next_key(self):
                self.key, key = jax.random.split(self.key)
                return key

            def roll(self, n):
                return [jax.random.normal(self.next_key()) for _ in range(n)]

            def again(self, n):
                for _ in range(n):
                    self.key, key = jax.random.split(self.key)
                    self.x = jax.random.normal(key)
        """,
    "a key in a dict that moves on": """
        def f(key, n):
            state = {"key": key}
            for _ in range(n):
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
        """,
    "a key in a dict that moves on twice": """
        def f(key, n):
            state = {"key": key}
            for _ in range(n):
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
                state["key"], sub = jax.random.split(state["key"])
                print(jax.random.normal(sub))
        """,
    "keys from a stream": """
        def stream(key):
            while True:
                key, sub = jax.random.split(key)
                yield sub

        def f(key, sizes):
            keys = stream(key)
            return [jax.random.normal(next(keys), (size,)) for size in sizes]
        """,
    "a loop that is left after the draw": """
        def f(key, kinds, x):
            for kind in kinds:
                if kind.fits(x):
                    return jax.random.normal(key, x.shape)
            return x
        """,
    "the lane's own number folded in": """
        @partial(jax.pmap, in_axes=(None, 0), axis_name="devices")
        def f(key, x):
            key = jax.random.fold_in(key, jax.lax.axis_index("devices"))
            return x + jax.random.normal(key, x.shape)
        """,
    "keys in a carry and in xs": """
        def f(key, x):
            def step(carry, k):
                x, key = carry
                key, sub = jax.random.split(key)
                return (x + jax.random.normal(sub) + jax.random.normal(k), key), None

            key, scanned = jax.random.split(key)
            return jax.lax.scan(step, (x, key), jax.random.split(scanned, 4))
        """,
    "a constant key for shapes only": """
        def f(model, x):
            return jax.eval_shape(lambda: jax.random.normal(jax.random.key(0), x.shape))
        """,
    "a seed from outside": """
        def f(seeds):
            return [jax.random.normal(jax.random.PRNGKey(seed)) for seed in seeds]

        @jax.jit
        def g(seed, x):
            return x + jax.random.normal(jax.random.key(seed), x.shape)
        """,
    "conditions that exclude each other": """
        def f(key, x, train, mode):
            if train:
                x = x + jax.random.normal(key, x.shape)
            if mode == "a":
                x = x * 2
            if not train:
                x = x + jax.random.uniform(key, x.shape)
            return x

        def g(key, x, mode):
            if mode == "normal":
                x = x + jax.random.normal(key, x.shape)
            if mode == "uniform":
                x = x + jax.random.uniform(key, x.shape)
            return x
        """,
    "a generator of NumPy's": """
        def f(rng, policy, prior):
            return policy.sample(rng), prior.sample(rng), rng.normal()
        """,
    "one key for all collections": """
        def f(model, key, x):
            return model.init({"params": key, "dropout": key}, x)
        """,
    "a key that objects only hold": """
        class State(NamedTuple):
            key: jax.Array
            x: jax.Array

        def f(key, x):
            state = State(key=key, x=x)
            state = state._replace(key=key)
            return state, dict(key=key), jax.random.normal(key)
        """,
    "a state that is given another key, on every way": """
        def step(state, quick):
            key, first = jax.random.split(state.key)
            state = state.replace(key=key)
            if quick:
                state = state.replace(speed=2.0, key=jax.random.fold_in(key, 1))
            return jax.random.normal(first), jax.random.normal(state.key)
        """,
    "the same path at two times": """
        import equinox as eqx

        class Path(eqx.Module):
            key: jax.Array

            def at(self, t):
                return t * jax.random.normal(self.key)

            def between(self, a, b):
                return self.at(b) - self.at(a)
        """,
    "a state that is given another key in each turn": """
        def train(step, state, batches):
            for batch in batches:
                key, sub = jax.random.split(state.key)
                state = step(state, batch, jax.random.normal(sub)).replace(key=key)
            return state

        def folded(model, state, batches):
            for batch in batches:
                key = jax.random.fold_in(state.dropout_key, state.step)
                out = model.apply(state.params, batch, rngs={"dropout": key})
                state = state.apply_gradients(grads=out)
            return state
        """,
    "a network and its copy from one helper": """
        def create(module, key, x):
            return module.init(key, x)

        def f(key, critic, x):
            params = create(critic, key, x)
            target = create(critic, key, x)
            return params, target
        """,
    "a loss, and its derivatives at the same sample": """
        def loss(params, key, x):
            return jnp.sum((params * x + jax.random.normal(key, x.shape)) ** 2)

        def step(params, key, x):
            value = loss(params, key, x)
            slope = jax.grad(loss)(params, key, x)
            return value, slope, jax.hessian(lambda p: loss(p, key, x))(params)

        def anonymous(params, key):
            energy = lambda p: jnp.sum(p * jax.random.normal(key, p.shape))
            return energy(params), jax.grad(energy)(params)
        """,
    "an initializer that draws nothing": """
        import flax.linen as nn

        def f(key, x):
            mine, other = jax.random.split(key)
            zeros = nn.initializers.zeros(mine, (3,))
            return jax.random.normal(mine), other, zeros
        """,
    "a sampler's keys": """
        from numpyro.infer import MCMC, NUTS, Predictive

        def study(key, model, x):
            run_key, draw_key = jax.random.split(key)
            mcmc = MCMC(NUTS(model))
            mcmc.run(run_key, x)
            return Predictive(model, mcmc.get_samples())(draw_key, x)
        """,
    "enough keys": """
        def f(key, x):
            n = x.shape[0]
            keys = jax.random.split(key, n + 1)
            a, b = jax.random.split(keys[n])
            *more, last = jax.random.split(b, 5)
            return [jax.random.normal(keys[i]) for i in range(n)]
        """,
    "two draws under names of which one is taken": """
        def act(key, logits, is_evaluation):
            explored = jax.random.categorical(key, logits)
            careful = jax.random.categorical(key, 10.0 * logits)
            return jax.lax.select(is_evaluation, careful, explored)
        """,
    "one key for examples that only tell shapes": """
        def make(env, buffer, network):
            @jax.jit
            def train(key, params):
                stand_in = jax.random.key(0)
                _, example = env.reset(stand_in, params)
                seen, _, reward, done, _ = env.step(stand_in, example, 0, params)
                memory = buffer.init({"seen": seen, "reward": reward, "done": done})
                return network.init(key, jnp.zeros_like(seen)), memory

            return train
        """,
}


@pytest.mark.parametrize("case", FINE)
def test_keys_that_are_used_once_are_not_reported(case: str):
    assert found(FINE[case]) == []
