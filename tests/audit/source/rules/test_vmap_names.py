"""Names of axes that layers and specs go by, and single elements of what a lane has."""

import pytest

from .reading import found

LINEN = """
import flax.linen as nn

class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Dense(3)(x)
        return nn.BatchNorm(use_running_average={0}, axis_name="batch")(x)

def step(variables, x):
    return Net().apply(variables, x, mutable=["batch_stats"])

train = jax.pmap(step, axis_name={1}, in_axes=(None, 0))
"""


def test_a_layer_of_linen_unites_over_a_name_that_is_not_bound():
    assert found("VM201", LINEN.format("False", '"devices"')) == [7]
    assert found("VM201", LINEN.format("False", '"batch"')) == []


@pytest.mark.parametrize("use_running_average", ["True", "not x.any()"])
def test_a_layer_that_may_use_its_averages_unites_nothing(use_running_average):
    assert found("VM201", LINEN.format(use_running_average, '"devices"')) == []


EQUINOX = """
import equinox as eqx

class Net(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __init__(self, key):
        self.norm = eqx.nn.BatchNorm(3, axis_name="batch"{0})

    def __call__(self, x, state):
        return self.norm(x, state)

def entry(x):
    net, state = eqx.nn.make_with_state(Net)(jax.random.key(0))
    mapped = jax.vmap(net, in_axes=(0, None), out_axes=(0, None){1})
    return mapped(x, state)

def inputs():
    return (jnp.ones((4, 3)),)
"""


def test_a_layer_of_equinox_is_mapped_without_a_name():
    assert found("VM201", EQUINOX.format("", "")) == [14]
    assert found("VM201", EQUINOX.format("", ', axis_name="batch"')) == []
    assert found("VM201", EQUINOX.format(", inference=True", "")) == []


DEFAULTS = """
def centred(x, axis="batch"):
    return x - lax.pmean(x, axis)

def scaled(x, axis="batch"):
    return x / lax.pmax(x, axis)

def whole(x, axis="batch"):
    return centred(x, axis)

def lane(x):
    y = {0}
    return scaled(y{1})

def entry(x):
    return jax.vmap(lane, axis_name="lanes")(x)

def inputs():
    return (jnp.ones((4, 3)),)
"""


@pytest.mark.parametrize(
    ("makes", "scales", "lines"),
    [
        ("centred(x)", ', axis="lanes"', [11]),
        ("whole(x)", ', "lanes"', [11]),
        ('centred(x, "lanes")', "", [12]),
        ('centred(x, "lanes") + centred(x)', ', "lanes"', [11]),
        ('centred(x, "lanes")', ', "lanes"', []),
        # Nobody knows a better name: the signature does not fit what is there.
        ("centred(x)", ' * lax.axis_index("lanes"), "lane"', [1, 12]),
    ],
)
def test_a_default_names_an_axis_that_other_calls_name_otherwise(makes, scales, lines):
    assert found("VM201", DEFAULTS.format(makes, scales)) == lines


def test_a_spec_names_no_axis_of_its_mesh():
    program = """
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = jax.make_mesh((2, 2), ("data", "model"))
    SPECS = {{"w": P("model", None), "b": P({0})}}

    def f(p, x):
        return lax.psum(x @ p["w"], "model")

    divided = jax.shard_map(f, mesh=mesh, in_specs=(SPECS, P("data")), out_specs=P("data"))

    def place(x):
        return jax.device_put(x, NamedSharding(mesh, P({1}, None)))
    """
    assert found("VM201", program.format('"mp"', '"batch"')) == [4, 12]
    assert found("VM201", program.format("None", '("data", "model")')) == []


def test_a_mesh_of_unknown_axes_may_have_any():
    program = """
    from jax.sharding import NamedSharding, PartitionSpec as P

    def place(x, names):
        mesh = jax.make_mesh((2, 2), names)
        return jax.device_put(x, NamedSharding(mesh, P("batch", None)))
    """
    assert found("VM201", program) == []


ENDS = """
def steer(states):
    leader = states[{0}]
    return states - leader

def entry(states):
    return jax.vmap(steer)(states)

def inputs():
    return (jnp.ones((4, 3)),)

AXES = {{"states": "agent {1}"}}
"""


@pytest.mark.parametrize("index", ["0", "-1"])
def test_a_single_component_is_taken_for_one_of_all_elements(index):
    assert found("VM003", ENDS.format(index, "dim")) == [2]
    assert found("VM003", ENDS.format(index, "time")) == []


PICKED = """
def chosen(logits, action):
    return {0}

def entry(logits, actions):
    return jax.vmap(chosen, in_axes=(0, {1}))(logits, actions)

def inputs():
    return jnp.ones((6, 4)), jnp.zeros(6, jnp.int32)

AXES = {{"logits": "{2}", "actions": "batch"}}
"""


@pytest.mark.parametrize(
    "picked",
    ["jax.nn.log_softmax(logits)[action].mean()", "-jnp.sum(jnp.take(logits, action))"],
)
def test_each_element_picks_by_the_indices_of_all(picked):
    assert found("VM002", PICKED.format(picked, "None", "batch act")) == [5]
    assert found("VM002", PICKED.format(picked, "0", "batch act")) == []
    # An ensemble, and a matrix of all pairs.
    assert found("VM002", PICKED.format(picked, "None", "member act")) == []
    assert found("VM002", PICKED.format(picked, "None", "batch batch")) == []


def test_each_element_may_be_wanted_for_all_indices():
    assert found("VM002", PICKED.format("logits[action]", "None", "batch act")) == []


def test_axes_that_a_record_has_for_each_field():
    program = """
    class Log(NamedTuple):
        level: jax.Array
        seen: jax.Array

    ALONG = Log(
        level=1,
        seen=0,
    )

    def last(start, log):
        return start + jnp.where(log.seen, log.level, 0.0).sum()

    def entry(start, level, seen):
        return jax.vmap(last, in_axes=(0, ALONG))(start, Log(level, seen))

    AXES = {"start": "well", "level": "hour well", "seen": "hour well"}

    def inputs():
        return jnp.ones(5), jnp.ones((5, 5)), jnp.ones((5, 5), bool)
    """
    assert found("VM001", program) == [7]
    assert found("VM001", program.replace("seen=0", "seen=1")) == []
