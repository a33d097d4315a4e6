"""Maps, found by reading: what is mapped, what is shared, and what goes between the lanes."""

import pytest

from .reading import found


def test_parameters_of_a_module_are_mapped_with_the_batch():
    program = """
    from jaxtyping import Array, Float

    def apply(params, x):
        return params["scale"] * x

    def forward(scale: Float[Array, "feat"], x: Float[Array, "batch feat"]):
        batched = jax.vmap(apply)
        return batched({"scale": scale}, x)
    """
    assert found("VM001", program) == [8]
    assert found("VM001", program.replace("vmap(apply)", "vmap(apply, in_axes=(None, 0))")) == []


def test_nested_maps_pair_players_with_environments():
    program = """
    from jaxtyping import Array, Float

    def act(w: Float[Array, "player feat"], obs: Float[Array, "env player feat"]):
        per_player = jax.vmap(jnp.dot, in_axes=(None, 0))
        return jax.vmap(per_player)(w, obs)
    """
    assert found("VM001", program) == [5]


def test_rows_that_every_lane_sums_over():
    program = """
    from jaxtyping import Array, Float

    def reward(state, action):
        return -((state - action) ** 2).sum()

    def bound(states: Float[Array, "env dim"], actions: Float[Array, "env dim"]):
        return jax.vmap(functools.partial(reward, action=actions))(states)

    def given(states: Float[Array, "env dim"], actions: Float[Array, "env dim"]):
        return jax.vmap(reward, (0, None))(states, actions)
    """
    assert found("VM002", program) == [7, 10]


def test_the_batch_is_counted_in_a_helper_of_the_mapped_function():
    program = """
    import verax

    def mean(x):
        batch_size = len(x)
        return x.sum() / batch_size

    def example_loss(x, y):
        return mean(x - y)

    def loss(x, y):
        x = verax.axes(x, "batch feat")
        return jax.vmap(example_loss, (0, None))(x, y)
    """
    # `x - y` is made from the lane and no lane itself: what it is of is not certain.
    assert found("VM003", program) == []
    assert found("VM003", program.replace("mean(x - y)", "mean(x)")) == [4]


def test_a_batch_of_each_agent_stays_a_batch():
    program = """
    import verax

    def loss(w, x):
        batch_size = x.shape[0]
        return (x @ w).sum() / batch_size

    def losses(w, x):
        w = verax.axes(w, "seed feat")
        x = verax.axes(x, "seed batch feat")
        return jax.vmap(loss)(w, x)
    """
    assert found("VM003", program) == []


def test_a_mean_that_is_divided_again():
    program = """
    def step(params, x):
        grads = jax.grad(lambda p: jnp.sum(p * x))(params)
        once = jax.tree.map(lambda g: lax.psum(g, "i") / lax.psum(1, "i"), grads)
        mean = lax.pmean(grads, "i")
        half = mean / 2
        return once, half, jax.tree.map(lambda g: g / lax.psum(1, "i"), mean)

    steps = jax.pmap(step, axis_name="i")
    """
    assert found("VM005", program) == [6]


def test_a_mean_that_is_summed_again():
    program = """
    def norm(x):
        total = lax.pmean(jnp.sum(x), "i")
        return lax.psum(total, "i"), lax.pmean(total, "i"), lax.psum(1, "i")

    norms = jax.pmap(norm, axis_name="i")
    """
    assert found("VM005", program) == [3]


def test_a_mean_of_masked_means():
    program = """
    def masked(x, mask):
        return (x * mask).sum() / jnp.clip(mask.sum(), 1)

    def loss(x, mask):
        return lax.pmean(masked(x, mask), axis_name="i"), lax.pmean(x.mean(), "i")

    losses = jax.pmap(loss, "i")
    """
    assert found("VM006", program) == [5]


def test_in_axes_of_a_filtered_map():
    program = """
    import equinox as eqx

    @eqx.filter_vmap(in_axes=(eqx.if_array(0), None, None))
    def evaluate(member, xs):
        return member(xs)

    def both(member, xs):
        return member(xs)

    def entry(members, xs):
        mapped = eqx.filter_vmap(both, in_axes=(eqx.if_array(0), None))
        return evaluate(members, xs), mapped(members, xs)
    """
    assert found("VM202", program) == [3]


def test_maps_of_too_few_arguments_and_of_numbers():
    program = """
    def add(x, y, z):
        return x + y + z

    def f(xs, ys):
        short = jax.vmap(add)(xs, ys)
        number = jax.vmap(lambda x, y: x * y)(xs, 3.0)
        fine = jax.vmap(functools.partial(add, z=1.0))(xs, ys)
        return short, number, fine, jax.vmap(lambda x, y: x * y, in_axes=(0, None))(xs, 3.0)

    @functools.partial(jax.pmap, static_broadcasted_argnums=1)
    def repeat(x, times):
        return x * times

    def g(xs):
        return repeat(xs, 3)
    """
    assert found("VM202", program) == [5, 6]


def test_one_key_for_a_map_over_many():
    program = """
    def noisy(key, x):
        return x + jax.random.normal(key)

    def f(key, xs):
        key, sub = jax.random.split(key)
        keys = jax.random.split(key, xs.shape[0])
        return jax.vmap(noisy)(sub, xs), jax.vmap(noisy)(keys, xs)
    """
    assert found("VM202", program) == [7]


def test_in_axes_of_a_bound_method_and_of_a_named_tuple():
    program = """
    from typing import NamedTuple

    class Physics(NamedTuple):
        mass: jax.Array
        gravity: jax.Array

    class Model:
        def energy(self, scale, xs):
            return scale * xs.sum()

        def sweep(self, scales, xs):
            wrong = jax.vmap(self.energy, in_axes=(None, 0, None))
            right = jax.vmap(self.energy, in_axes=(0, None))
            return wrong(self, scales, xs), right(scales, xs)

    def fall(physics, speed):
        return speed - physics.gravity / physics.mass

    AXES = (0, None, None)

    def step(masses, speeds):
        batched = jax.vmap(fall, in_axes=(AXES, 0))
        fine = jax.vmap(fall, in_axes=(Physics(0, None), 0))
        physics = Physics(masses, jnp.ones(()))
        return batched(physics, speeds), fine(physics, speeds)
    """
    assert found("VM202", program) == [12, 19]


@pytest.mark.parametrize(
    ("call", "is_wrong"),
    [
        ("jax.vmap(f, in_axes=(0, None))(a, b)", False),
        ("jax.vmap(f, in_axes=(0, None, 0))(a, b)", True),
        ("jax.vmap(f, in_axes=(0,))(a, b)", True),
        ("jax.vmap(f, in_axes=(None, None))(a, b)", True),
        ("jax.vmap(f, in_axes=(None, None), axis_size=3)(a, b)", False),
        ("jax.vmap(f, in_axes=({'x': 0, 'z': 0}, 0))(tree, b)", True),
        ("jax.vmap(f, in_axes=({'x': 0, 'y': None}, 0))(tree, b)", False),
        ("jax.vmap(f, in_axes=((0, 0, 0), None))((a, a), b)", True),
        ("jax.vmap(f, in_axes=(2, None))(jnp.ones((3, 3)), b)", True),
        ("jax.vmap(f, in_axes=(-1, None))(jnp.ones((3, 3)), b)", False),
        ("jax.vmap(f)(jnp.ones((3, 2)), jnp.ones((2, 2)))", True),
        ("jax.vmap(f, (0, None), None)(a, b)", True),
        ("jax.vmap(f, (0, None), (0, 0))(a, b)", False),
        ("jax.vmap(lambda x: (x, x), 0, (0, 0, 0))(a)", True),
        ("jax.vmap(lambda x: (x, 1.0), 0, (0, None))(a)", False),
        ("jax.vmap(f, (0, None))(*pair)", False),
    ],
)
def test_axes_are_held_against_the_call(call: str, is_wrong: bool):
    program = f"""
    def f(x, y):
        return x, y

    def use(a, b, pair):
        tree = {{"x": a, "y": b}}
        return {call}
    """
    assert bool(found("VM202", program)) is is_wrong


def test_more_axes_than_parameters():
    program = """
    @functools.partial(jax.vmap, in_axes=(None, 0, 0))
    def predict(params, x):
        return params @ x

    def rest(params, *xs):
        return params

    many = jax.vmap(rest, in_axes=(None, 0, 0))
    """
    assert found("VM202", program) == [1]


def test_a_mean_that_is_called_the_batchs_inside_of_a_map():
    program = """
    import verax

    def centred(x):
        batch_mean = jnp.mean(x, axis=0)
        return x - batch_mean

    def run(x):
        x = verax.axes(x, "batch time feat")
        batch_mean = x.mean(axis=0)
        return jax.vmap(centred)(x), batch_mean
    """
    assert found("VM003", program) == [4]


def test_the_first_of_what_a_caller_calls_the_batch():
    program = """
    def deviation(batch):
        reference = batch[0]
        return ((batch - reference) ** 2).sum()

    def entry(batch):
        return jax.vmap(deviation)(batch)

    def inputs():
        return (jnp.ones((4, 6, 2)),)
    """
    assert found("VM003", program) == [2]
    assert (
        found(
            "VM003", program.replace("entry(batch)", "entry(seeds)").replace(")(batch)", ")(seeds)")
        )
        == []
    )


def test_a_map_that_an_object_keeps_has_an_axis_for_each_argument():
    program = """
    class Simulation:
        def __init__(self, task, devices):
            def rollout(state, params, statistics, steps):
                return lax.scan(lambda c, _: (c + params, statistics), state, None, steps)

            self.run = functools.partial(rollout, steps=task.steps)
            if devices > 1:
                self.run = jax.jit(jax.pmap(self.run, in_axes=(0, None)))

        def evaluate(self, state, params, statistics):
            return self.run(state, params, statistics)
    """
    assert found("VM202", program) == [8]
    assert found("VM202", program.replace("(0, None)", "(0, None, None)")) == []
    by_name = program.replace("params, statistics, steps", "params, *, statistics, steps")
    assert found("VM202", by_name.replace("steps=task", "statistics=task, steps=task")) == []


def test_stacked_parameters_tell_how_many_lanes_there_are():
    program = """
    import flax.linen as nn

    class Critic(nn.Module):
        @nn.compact
        def __call__(self, obs):
            return nn.Dense(1)(nn.tanh(nn.Dense(32)(obs)))[..., 0]

    def values(params, obs):
        return jax.vmap(Critic().apply, in_axes=(0, None))(params, obs)

    def main(key):
        obs = jnp.ones((64, 5))
        params = jax.vmap(Critic().init, in_axes=(0, None))(jax.random.split(key, 2), obs)
        least = values(params, obs).min(axis=-1)
        return least + jnp.ones(64)
    """
    assert found("AX201", program) == [15]
    assert found("AX201", program.replace("axis=-1", "axis=0")) == []


def test_one_number_has_no_deviation():
    program = """
    from typing import NamedTuple

    class Sample(NamedTuple):
        obs: jax.Array
        advantage: jax.Array

    def standardise(x):
        return (x - x.mean()) / (x.std() + 1e-8)

    def loss(w, sample):
        advantage = standardise(sample.advantage)
        features = standardise(sample.obs)
        return (features @ w) * advantage

    def total(w, batch):
        return jax.vmap(loss, in_axes=(None, 0))(w, batch).mean()

    total(jnp.ones(3), Sample(jnp.ones((8, 3)), jnp.ones(8)))
    """
    assert found("VM003", program) == [11]


PRODUCT = """
    def episode(policy, key):
        return jnp.sum(policy * jax.random.normal(key, policy.shape))

    def judge(policies, key):
        keys = jax.random.split(key, 4)
        each = jax.vmap(episode, in_axes=(0, None))
        return jax.vmap(each, in_axes=(None, 0))(policies, keys).mean(axis=0)
"""


def test_every_candidate_meets_every_key():
    assert found("RK003", PRODUCT) == []
    # One key for each environment, whose players then all draw the same.
    players = PRODUCT.replace("in_axes=(None, 0))(", "in_axes=(0, 0))(")
    assert found("RK003", players) == [6]


def test_squeezed_results_of_one_lane():
    program = """
    def value(w, state):
        return jnp.tanh(state @ w)

    def values(w, states):
        return jax.vmap(value, in_axes=(None, 0))(w, states).squeeze()

    values(jnp.ones((3, 1)), jnp.ones((1, 3)))
    """
    assert found("AX004", program) == [5]
    assert found("AX004", program.replace("jnp.ones((1, 3))", "jnp.ones((4, 3))")) == []


def test_a_squeeze_between_two_maps_drops_the_only_lane():
    program = """
    def draws(key, low, high, n):
        keys = jax.random.split(key, n)
        at = jax.vmap(jax.random.uniform, in_axes=(0, None, None, 0, 0))(
            keys, (), jnp.float32, low[:, None], high[:, None]
        )
        return jax.vmap(lambda x: jnp.sin(x))(at.squeeze())

    def fine(key, low, high, n):
        keys = jax.random.split(key, n)
        at = jax.vmap(lambda k, a: jax.random.uniform(k, (1,), minval=a))(keys, low)
        return jax.vmap(jnp.sin)(at.squeeze(axis=-1)), at.squeeze() + high
    """
    assert found("AX004", program) == [6]
