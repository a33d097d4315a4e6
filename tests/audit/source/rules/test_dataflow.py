"""What becomes of values, in programs of other shapes than the rules' examples."""

from .claims import check_found, check_silent, claimed_and_found, each_of

WRONG = {
    "fields of an object from elsewhere, by a dict": """
        import gymnax

        class Problem:
            def __init__(self, name, settings):
                self.env, self.settings = gymnax.make(name)
                self.settings.replace(**settings)  # DF104
        """,
    "an update that is undone by the decay after it": """
        def decay(sigma, rate):
            return jnp.maximum(sigma * rate, 0.01)

        def tell(state, fitness, rate):
            delta = jnp.dot(fitness, state.noise)
            sigma = jnp.clip(state.sigma - 0.1 * delta, 0.0, 1.0)
            sigma = decay(state.sigma, rate)  # DF115
            return state.replace(sigma=sigma)
        """,
    "a layer that the next one does not see": """
        import flax.linen as nn

        class Actor(nn.Module):
            @nn.compact
            def __call__(self, x):
                embedding = nn.relu(nn.Dense(64)(x))
                mean = nn.Dense(64)(embedding)
                mean = nn.tanh(mean)
                mean = nn.Dense(4)(embedding)  # DF115
                return mean
        """,
    "a gradient that another one replaces": """
        @jax.jit
        def update(one, two, x, y):
            def loss(w):
                return jnp.mean((x @ w - y) ** 2), x @ w

            (first, _), grad = jax.value_and_grad(loss, has_aux=True)(one)
            (second, _), grad = jax.value_and_grad(loss, has_aux=True)(two)  # DF115
            return one - 0.1 * grad, two - 0.1 * grad, first + second
        """,
    "normalised by a helper, clipped, and forgotten": """
        def normalise(stats, x):
            return (x - stats["mean"]) / jnp.sqrt(stats["var"] + 1e-6)

        class Policy:
            def act(self, params, stats, obs):
                scaled = normalise(stats, obs)
                bounded = jnp.clip(scaled, -5.0, 5.0)
                hidden = jnp.tanh(obs @ params["w"])  # DF101
                return hidden @ params["out"]
        """,
    "a branch that is not merged": """
        def encode(w, x):
            return jax.nn.relu(x @ w)

        @functools.partial(jax.jit, static_argnums=0)
        def forward(config, params, camera, joints):
            seen = encode(params["camera"], camera)
            felt = encode(params["joints"], joints)
            both = jnp.concatenate([seen, seen], axis=-1)  # DF101
            return both @ params["out"]
        """,
    "a new version of an object that never changes": """
        from flax import struct

        @struct.dataclass
        class Stats:
            mean: jax.Array
            count: jax.Array

            def update(self, x):
                return self.replace(mean=self.mean + (x - self.mean) / self.count)

        def collect(stats: Stats, xs):
            stats = Stats(mean=stats.mean, count=stats.count + 1.0)
            stats.update(xs.mean())  # DF104
            return stats
        """,
    "statements that do nothing": """
        import dataclasses

        @dataclasses.dataclass
        class State:
            x: jax.Array

        def update(x, key, grads, state, i):
            x.at[i].set(0.0)  # DF104
            jnp.clip(x, 0.0, 1.0)  # DF104
            jax.random.split(key)  # DF104
            dataclasses.replace(state, x=x)  # DF104
            state.apply_gradients(grads=grads)  # DF104
            for _ in range(3):
                jax.lax.stop_gradient(x)  # DF104
            return x
        """,
    "the leaves of a tree, changed for nobody, beside some that are looked at": """
        from typing import NamedTuple

        import numpy as np

        class Pair(NamedTuple):
            w: jax.Array
            b: jax.Array

        def check(x):
            one, other = Pair(x, 2 * x), Pair(x + 1, x)
            jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b), one, other)
            jax.tree.map(lambda a, b: a + b, one, other)  # DF104
            return one
        """,
    "the optimiser's state stays the old one": """
        def train(tx, params, state, batches, loss):
            for batch in batches:
                grads = jax.grad(loss)(params, batch)
                updates, _ = tx.update(grads, state, params)  # DF106
                params = optax.apply_updates(params, updates)
            return params

        def make(tx, loss):
            @jax.jit
            def step(params, opt_state, batch):
                value, grads = jax.value_and_grad(loss)(params, batch)
                updates, new_opt_state = tx.update(grads, opt_state)  # DF106
                return optax.apply_updates(params, updates), opt_state, value
            return step
        """,
    "a state that is not handed on": """
        class Trainer:
            def fit(self, state, batches):
                for batch in batches:
                    new_state, metrics = self.step(state, batch)  # DF105
                    self.log(metrics)
                return state

        def rollout(env, env_state, actions):
            rewards = []
            while len(rewards) < 10:
                obs, env_state_next, reward = env.step(env_state, actions[0])  # DF105
                rewards.append(reward)
            return rewards

        def once(apply, variables, x):
            y, new_variables = apply(variables, x)
            return y, variables  # DF105
        """,
    "gradients are added": """
        def step(params, batch, loss):
            value, grads = jax.value_and_grad(loss)(params, batch)
            return optax.apply_updates(params, grads)  # DF107
        """,
    "fields that are replaced for nobody": """
        def settle(state, force):
            state.replace(speed=state.speed + force)  # DF104
            return state.replace(time=state.time + 1)
        """,
    "an average of parameters that no state takes": """
        class Learner:
            def step(self, state, batch):
                params = self.improved(state.params, batch)
                slow = jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, state.slow, params)
                return state.replace(params=params)  # DF101
        """,
    "a state that a loss has updated": """
        def update(apply, params, stats, x):
            def loss(params):
                y, updated_stats = apply(params, stats, x)
                return jnp.mean(y**2), updated_stats

            grads, updated_stats = jax.grad(loss, has_aux=True)(params)
            return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), stats  # DF105
        """,
    "a version in a tuple": """
        def clip(grads, limit):
            norm = jnp.linalg.norm(grads)
            return grads * jnp.minimum(1.0, limit / norm), norm

        def step(params, grads):
            clipped, norm = clip(grads, 1.0)
            return params - 0.1 * grads, norm  # DF101
        """,
    "a copy that nothing reads": """
        def step(state, force, dt):
            half = state._replace(velocity=state.velocity + 0.5 * dt * state.force)
            moved = half._replace(position=half.position + dt * half.velocity, force=force)
            velocity = half.velocity + 0.5 * dt * half.force  # DF101
            return half._replace(velocity=velocity)
        """,
    "a field that a copy leaves as it was": """
        def train_step(net, state, batch):
            (loss, batch_stats), grads = net.gradients(state.params, state.batch_stats, batch)
            updates, opt_state = net.tx.update(grads, state.opt_state)
            params = optax.apply_updates(state.params, updates)
            return state.replace(params=params, opt_state=opt_state), loss  # DF105
        """,
    "an old field for a new record": """
        def train_step(net, State, state, batch):
            params, ema = net.learn(state.params, state.ema, batch)
            return State(params=params, ema=state.ema)  # DF105
        """,
    "an update that a function from elsewhere starts again before": """
        from schedules import shrunk

        def adapted(swarm, scores):
            width = swarm.width + 0.1 * jnp.mean(scores)
            width = shrunk(swarm.width, 0.99)  # DF115
            return swarm.replace(width=width)
        """,
}

RIGHT = {
    "written twice, and called twice": """
        def horner(x, coefficients):
            total = jnp.zeros_like(x)
            if coefficients.ndim != 1:
                raise ValueError("one row of coefficients")
            total = jnp.zeros_like(x)
            return jax.lax.fori_loop(0, 3, lambda i, it: it * x + coefficients[i], total)

        def shown(network, small, large):
            out = network(small)
            print("a small one", small)
            out = network(large)
            return out
        """,
    "layers that are called for their parameters": """
        import flax.linen as nn

        class Model(nn.Module):
            def setup(self):
                self.head = nn.Sequential([nn.Dense(3), nn.relu])

            def touch(self, x):
                self.head(x)
        """,
    "names that serve again": """
        def forward(params, x, train):
            hidden = jnp.tanh(x @ params["a"])
            out = hidden @ params["b"]
            hidden = jnp.tanh(x @ params["c"])
            if train:
                hidden = hidden * 0.5
            y = jnp.zeros(3)
            y = out + hidden
            info, aux = jnp.min(x), jnp.max(x)
            info, aux = jnp.min(y), jnp.max(y)
            return y, info, aux
        """,
    "a copy that is read in a branch": """
        def step(state, force, fast):
            moved = state._replace(force=force)
            if fast:
                return state._replace(force=0.5 * force)
            return moved
        """,
    "a part of a result that is no version of what was given": """
        def stats(x):
            return x.mean(), jnp.tanh(x).max()

        def center(x):
            mean, top = stats(x)
            return x - mean
        """,
    "a field that is only looked at": """
        def train_step(net, state, batch):
            loss, params = net.learn(state.params, state.step, batch)
            step = state.step
            return state.replace(params=params), loss
        """,
    "an object that is changed, and returns itself": """
        class Builder:
            def __init__(self):
                self.layers = []

            def add(self, layer):
                self.layers.append(layer)
                return self

        def build(layer):
            builder = Builder()
            builder.add(layer)
            return builder
        """,
    "values that are not needed": """
        def report(x, mean):
            centred = x - mean
            spread = jnp.std(x)
            _scaled = x / spread
            return centred @ x

        def shapes(x):
            batch = x.shape[0]
            return x * 2

        def closure(x):
            offset = x - 1.0
            return jax.vmap(lambda y: y + offset)(x)

        def loop(x, n):
            for _ in range(n):
                y = x * 0.5
                x = x + y
            return x
        """,
    "statements for their effect": """
        def test_it_runs(x):
            jnp.linalg.inv(x)

        def checked(x, y):
            jnp.broadcast_shapes(x.shape, y.shape)
            try:
                jnp.asarray(x)
            except TypeError:
                return None
            jax.debug.print("{}", x)
            x.sort()
            return x
        """,
    "states that are kept, or not needed again": """
        def train(tx, params, state, batches, loss):
            for batch in batches:
                grads = jax.grad(loss)(params, batch)
                updates, state = tx.update(grads, state, params)
                params = optax.apply_updates(params, updates)
            return params

        def once(tx, params, grads):
            updates, _ = tx.update(grads, tx.init(params), params)
            return optax.apply_updates(params, updates)
        """,
    "states that are handed on, kept aside, or only looked at": """
        def fit(step, state, batches):
            history = []
            for batch in batches:
                new_state, metrics = step(state, batch)
                history.append(metrics)
                state = new_state
            return state

        def evaluate(step, state, batches):
            for batch in batches:
                _, metrics = step(state, batch)
            return metrics

        def branches(step, state, actions):
            return [step(next_state, a) for a in actions for next_state in [state]]

        def both(step, state, batch):
            new_state, metrics = step(state, batch)
            return state, new_state
        """,
    "gradients that were turned around": """
        def step(params, batch, loss, rate):
            grads = jax.grad(loss)(params, batch)
            return optax.apply_updates(params, jax.tree.map(lambda g: -rate * g, grads))
        """,
    "a text and a table in which something is replaced": """
        def tidy(table, path, text):
            table.replace(to_replace="a", value="b", inplace=True)
            path.replace("elsewhere")
            return text.replace("a", "b")
        """,
    "an average of parameters that a state takes": """
        class Learner:
            def step(self, state, batch):
                params = self.improved(state.params, batch)
                slow = jax.tree.map(lambda s, p: 0.99 * s + 0.01 * p, state.slow, params)
                return state.replace(params=params, slow=slow)
        """,
    "a state that a loss has updated, and a closure that reads it": """
        def update(apply, params, stats, x):
            def loss(params):
                y, new_stats = apply(params, stats, x)
                return jnp.mean(y**2), new_stats

            grads, new_stats = jax.grad(loss, has_aux=True)(params)

            def improved():
                return jax.tree.map(lambda p, g, s: p - s * g, params, grads, new_stats)

            return improved(), stats
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "dataflow")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "dataflow")


def test_a_module_that_equinox_updates_is_the_one_its_state_was_made_for():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        w: jax.Array
        b: jax.Array

    def train(key, xs):
        net = Net(jax.random.normal(key, (3,)), jnp.zeros(3))
        tx = optax.adam(1e-3)
        state = tx.init(eqx.filter(net, eqx.is_array))
        for x in xs:
            slope = eqx.filter_grad(lambda it: jnp.sum((it.w * x + it.b) ** 2))(net)
            updates, state = tx.update(slope, state)
            net = eqx.apply_updates(net, updates)
        return net
    """
    claimed, found = claimed_and_found(program, "dataflow")
    assert claimed == found
