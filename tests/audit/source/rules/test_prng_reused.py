"""Keys that are used again, in programs of other shapes than the rules' examples."""

import pytest

from .random_keys import found

REUSED = {
    "a clone that is drawn from twice": (
        """
        def f(key, x):
            again = jax.random.clone(key)
            y = x + jax.random.normal(again, x.shape)
            return y * jax.random.normal(again, x.shape) + jax.random.normal(key, x.shape)
        """,
        4,
    ),
    "one helper in two losses": (
        """
        def act(params, key, x):
            return params * x + jax.random.normal(key, x.shape)

        def actor_loss(params, key, x):
            return jnp.sum(act(params, key, x) ** 2)

        def critic_loss(params, key, x):
            return jnp.sum((act(params, key, x) - 1) ** 2)

        def f(params, key, x):
            slope = jax.grad(actor_loss)(params, key, x)
            return slope, jax.grad(critic_loss)(params, key, x)
        """,
        12,
    ),
    "a helper that acts, and is in a loss": (
        """
        def act(params, key, x):
            return params * x + jax.random.normal(key, x.shape)

        def loss(params, key, x):
            return jnp.sum((act(params, key, x) - 1) ** 2)

        def f(params, key, x):
            action = act(params, key, x)
            return action, jax.grad(loss)(params, key, x)
        """,
        9,
    ),
    "a function that a factory gives after it has used the key": (
        """
        def make(key, n):
            start = jax.random.normal(key, (n,))

            def step(x):
                return x + start + jax.random.normal(key, (n,))

            return step
        """,
        5,
    ),
    "two keys of one seed": (
        """
        def train(config, n):
            params = jax.random.normal(jax.random.key(config.seed), (n,))
            key = jax.random.key(config.seed)
            for _ in range(n):
                key, sub = jax.random.split(key)
                params = params + jax.random.normal(sub, (n,))
            return params
        """,
        5,
    ),
    "an iterator that keeps what it gives": (
        """
        class Keys:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def __next__(self):
                self.key, fresh = jax.random.split(self.key)
                return self.key

        def f(seed):
            keys = Keys(seed)
            return jax.random.normal(next(keys)) + jax.random.normal(next(keys))
        """,
        11,
    ),
    "a method of an annotated argument": (
        """
        class Walk(NamedTuple):
            sigma: float

            def move(self, key, x):
                return x + self.sigma * jax.random.normal(key, x.shape)

        def advance(walk: Walk, key, x):
            return walk.move(key, x)

        def f(walk, key, x):
            keep = jax.random.bernoulli(key, 0.5, x.shape)
            return jnp.where(keep, x, advance(walk, key, x))
        """,
        12,
    ),
    "a draw after a branch that drew": (
        """
        def f(key, x, noisy):
            if noisy:
                x = x + jax.random.normal(key, x.shape)
            return x * jax.random.bernoulli(key, 0.9, x.shape)
        """,
        4,
    ),
    "helpers, the second given what the first consumed": (
        """
        def layer(key, n):
            w_key, b_key = jax.random.split(key)
            return jax.random.normal(w_key, (n, n)), jax.random.normal(b_key, (n,))

        def init(key):
            return {"a": layer(key, 3), "b": layer(key, 4)}
        """,
        6,
    ),
    "a key that a helper returns as it was": (
        """
        def noise(key, x):
            return x + jax.random.normal(key, x.shape), key

        def f(key, x):
            x, key = noise(key, x)
            x, key = noise(key, x)
            return x
        """,
        2,
    ),
    "an attribute of self": (
        """
        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.PRNGKey(seed)

            def sample(self, shape):
                self.key, key = jax.random.split(self.key)
                return jax.random.normal(key, shape) + jax.random.uniform(key, shape)
        """,
        7,
    ),
    "an object whose key does not move on": (
        """
        class Sampler:
            def __init__(self, seed):
                self.key = jax.random.key(seed)

            def sample(self):
                return jax.random.normal(self.key)

        def pair():
            sampler = Sampler(0)
            return sampler.sample(), sampler.sample()
        """,
        6,
    ),
    "an object whose key one of its methods leaves where it is": (
        """
        class Keys:
            def __init__(self, key):
                self.key = key

            def one(self):
                self.key, key = jax.random.split(self.key)
                return key

            def some(self, n):
                return jax.random.split(self.key, n)

        def layers(keys, n):
            return [jax.random.normal(key, (n,)) for key in keys.some(3)]

        def networks(key, n):
            keys = Keys(key)
            return layers(keys, n), layers(keys, n)
        """,
        10,
    ),
    "an object whose key moves on after a draw that has left it": (
        """
        class Agent:
            def __init__(self, key):
                self.key = key

            def next_key(self):
                self.key, key = jax.random.split(self.key)
                return key

            def explore(self, n):
                return jax.random.normal(self.key, (n,))

        def play(key, n):
            agent = Agent(key)
            first = agent.explore(n)
            return first, jax.random.normal(agent.next_key(), (n,))
        """,
        10,
    ),
    "a key that is given by default, through helpers": (
        """
        BASE = jax.random.key(0)

        def points(n, key=BASE):
            return jax.random.uniform(key, (n,))

        def first(n):
            return points(n) + 1

        def second(n):
            return points(n) - 1

        def both(n):
            return first(n), second(n)
        """,
        10,
    ),
    "a key that a record holds under two names": (
        """
        class Streams(NamedTuple):
            level: jax.Array
            noise: jax.Array
            drop: jax.Array

        def streams_of(key):
            level, noise = jax.random.split(key)
            return Streams(level=level, noise=noise, drop=noise)

        def loss(key, x):
            streams = streams_of(key)
            x = x * jax.random.uniform(streams.level) + jax.random.normal(streams.noise, x.shape)
            return x * jax.random.bernoulli(streams.drop, 0.9, x.shape)
        """,
        8,
    ),
    "a state that its callers do not advance": (
        """
        class State(NamedTuple):
            key: jax.Array
            x: jax.Array

        def sample(state):
            return jax.random.normal(state.key, state.x.shape)

        def pair(state):
            first = sample(state)
            return first, sample(state)
        """,
        10,
    ),
    "the same keys in two comprehensions": (
        """
        def f(key):
            keys = jax.random.split(key, 5)
            weights = [jax.random.normal(k, (3,)) for k in keys]
            return weights, [jax.random.uniform(k) for k in keys]
        """,
        4,
    ),
    "the same keys in two maps": (
        """
        def f(key):
            keys = jax.random.split(key, 5)
            place = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
            speed = jax.vmap(lambda k: jax.random.normal(k, (3,)))(keys)
            return place, speed
        """,
        4,
    ),
    "the same number folded in": (
        """
        def f(key):
            a = jax.random.normal(jax.random.fold_in(key, 1))
            return a + jax.random.normal(jax.random.fold_in(key, 1))
        """,
        3,
    ),
    "a loop that starts from a used key": (
        """
        def f(key, x):
            x = x + jax.random.normal(key, x.shape)
            for _ in range(3):
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(sub, x.shape)
            return x
        """,
        4,
    ),
    "the parameters of two networks": (
        """
        from flax import linen as nn

        class Net(nn.Module):
            @nn.compact
            def __call__(self, x):
                return nn.Dense(4)(x)

        def init(key, x):
            actor, critic = Net(), Net()
            return actor.init(key, x), critic.init({"params": key}, x)
        """,
        10,
    ),
    "two layers of a module": (
        """
        import equinox as eqx

        class Net(eqx.Module):
            def __init__(self, key):
                self.first = eqx.nn.Linear(2, 3, key=key)
                self.second = eqx.nn.Linear(2, 3, key=key)
        """,
        6,
    ),
    "samples of distributions": (
        """
        def f(key, policy, prior):
            key, sub = jax.random.split(key)
            return policy.sample(seed=sub), prior.sample(seed=sub)
        """,
        3,
    ),
    "a reset and the steps of an environment": (
        """
        def rollout(env, key, actions):
            obs, state = env.reset(key)

            def step(state, inputs):
                action, k = inputs
                obs, state, reward, done, _ = env.step(key, state, action)
                return state, reward

            return jax.lax.scan(step, state, (actions, jax.random.split(key, 10)))
        """,
        6,
    ),
    "a used key that a scan hands on": (
        """
        def f(key, x):
            def step(carry, _):
                x, key = carry
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(sub, x.shape)
                return (x, sub), x

            return jax.lax.scan(step, (x, key), None, length=5)
        """,
        6,
    ),
    "a used key that a turn hands on": (
        """
        def f(key, x):
            for _ in range(5):
                key, sub = jax.random.split(key)
                x = x + jax.random.normal(key, x.shape)
            return x
        """,
        4,
    ),
    "inside of what a factory returns": (
        """
        def make_sampler(scale):
            def noise(key, x):
                return scale * jax.random.normal(key, x.shape)

            def sample(key, x):
                key, sub = jax.random.split(key)
                return noise(sub, x) + noise(sub, 2 * x)

            return sample
        """,
        7,
    ),
    "a key that a list held and gave away": (
        """
        def f(key):
            keys = list(jax.random.split(key, 4))
            a = jax.random.normal(keys.pop()) + jax.random.normal(keys[0])
            return a + jax.random.normal(keys.pop(0))
        """,
        4,
    ),
    "a key that a loop hands on after a helper drew from it": (
        """
        def draw(key, x):
            return x + jax.random.normal(key, x.shape)

        def f(key, x):
            for _ in range(5):
                key, other = jax.random.split(key)
                x = draw(key, x)
            return x
        """,
        7,
    ),
    "two samplers of a library": (
        """
        from numpyro.infer import MCMC, NUTS, Predictive

        def study(key, model, x):
            data_key, draw_key = jax.random.split(key)
            mcmc = MCMC(NUTS(model))
            mcmc.run(draw_key, x)
            return Predictive(model, mcmc.get_samples())(draw_key, x)
        """,
        7,
    ),
    "a key that a replaced state still holds": (
        """
        def f(state, x):
            noise = jax.random.normal(state.key, x.shape)
            later = state.replace(x=x + noise)
            return later, jax.random.uniform(later.key, x.shape)
        """,
        4,
    ),
    "a field of a state that copies keep": (
        """
        def step(state, quick):
            noise = jax.random.normal(state.key)
            state = state.replace(noise=noise)
            if quick:
                state = state.replace(speed=2.0)
            return state.replace(x=jax.random.uniform(state.key))
        """,
        6,
    ),
    "functions of others that draw, by their names": (
        """
        def f(key, agent, sample_noise, obs):
            act_key, other = jax.random.split(key)
            action = agent.select_action(obs, act_key)
            return action + sample_noise(act_key, action.shape)
        """,
        4,
    ),
    "two networks from one helper": (
        """
        def create(module, key, x):
            return module.init(key, x)

        def f(key, actor, critic, x):
            mine, other = jax.random.split(key)
            return create(actor, mine, x), create(critic, mine, x), other
        """,
        6,
    ),
    "initializers": (
        """
        import flax.linen as nn

        def f(key):
            first, second = jax.random.split(key)
            make = nn.initializers.orthogonal()
            return make(first, (3, 3)), make(first, (3, 4)), second
        """,
        6,
    ),
    "a key bound by a partial": (
        """
        def f(key, a, b):
            draw = partial(jax.random.normal, key)
            return draw(a.shape), draw(b.shape)
        """,
        3,
    ),
    "two draws of which one is taken, and one is kept as well": (
        """
        def act(key, logits, is_evaluation):
            explored = jax.random.categorical(key, logits)
            careful = jax.random.categorical(key, 10.0 * logits)
            return jax.lax.select(is_evaluation, careful, explored), explored
        """,
        3,
    ),
    "one constant key for what is stepped and kept": (
        """
        def start(env, params):
            key = jax.random.key(0)
            _, state = env.reset(key, params)
            return env.step(key, state, 0, params)
        """,
        4,
    ),
    "the last of the keys that a loop over the rest has used": (
        """
        def layers(key, n):
            first, *rest = jax.random.split(key, 4)
            inner = [jax.random.normal(k, (n, n)) for k in rest]
            return jax.random.normal(first, (n,)), inner, jax.random.normal(rest[-1], (n,))
        """,
        4,
    ),
    "a key from a list that a loop has gone through": (
        """
        def layers(key, n):
            a, b, c = jax.random.split(key, 3)
            keys, found = [a, b, c], []
            for k in keys:
                found.append(jax.random.normal(k, (n,)))
            return found, jax.random.uniform(b, (n,))
        """,
        6,
    ),
    "one key by its number from the front and from the end": (
        """
        def pair(key, n):
            keys = jax.random.split(key, 5)
            return jax.random.normal(keys[3], (n,)) + jax.random.normal(keys[-2], (n,))
        """,
        3,
    ),
}


@pytest.mark.parametrize("case", REUSED)
def test_a_key_that_is_used_again_is_found(case: str):
    program, line = REUSED[case]
    assert ("RK001", line) in found(program)


def test_a_key_is_followed_into_helpers_late_in_a_long_function():
    """Where what a function may cost outside of transformations is spent on other things."""
    long = "    x = jnp.sin(x)\n" * 100
    noisy = "    x = noise(b, x)\n"
    helper = "def noise(key, x):\n    return x + jax.random.normal(key, x.shape)\n\n"
    start = "def f(key, x):\n    a, b = jax.random.split(key)\n"
    program = f"{helper}{start}{long}{noisy}{noisy}    return x + jax.random.normal(a)\n"
    assert found(program) == [("RK001", 107)]


KEEPER = """
    def one_child(key):
        return jax.random.split(key, 1)[0]

    class Keeper:
        def __init__(self, seed):
            self.key = jax.random.key(seed)

        def deal(self, site, is_needed):
            if is_needed:
                {deal}
            return site
"""


@pytest.mark.parametrize(
    ("deal", "lines"),
    [
        ("site['rng'] = self.key; (self.key,) = jax.random.split(self.key, 1)", [10]),
        ("site.rng = self.key; self.key = one_child(self.key)", [10]),
        ("old = self.key; self.key, _ = jax.random.split(old); return old", [10]),
        ("self.key, site['rng'] = jax.random.split(self.key)", []),
        # What a run began with, so that it can be had again.
        ("site['log'] = self.key; self.key, site['rng'] = jax.random.split(self.key)", []),
        ("site['now'] = one_child(self.key)", []),
        ("self.key = one_child(self.key); site['rng'] = self.key", []),
    ],
)
def test_a_keeper_gives_away_the_key_that_it_goes_on_from(deal: str, lines: list[int]):
    assert found(KEEPER.format(deal=deal)) == [("RK001", it) for it in lines]
