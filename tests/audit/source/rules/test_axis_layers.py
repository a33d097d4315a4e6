"""Shapes that the layers of equinox, flax and haiku take and give."""

from .reading import found

NETWORKS = """
import equinox as eqx
import flax.linen as nn
from flax import nnx
"""


def test_layers_that_do_not_follow_on_each_other():
    program = f"""{NETWORKS}
class Net(eqx.Module):
    layers: list

    def __init__(self, key):
        first, second = jax.random.split(key)
        self.layers = [eqx.nn.Linear(4, 8, key=first), eqx.nn.Linear(4, 2, key=second)]

    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return x


class Two(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 5, rngs=rngs)
        self.second = nnx.Linear(4, 5, rngs=rngs)

    def __call__(self, x):
        return self.second(nnx.relu(self.first(x)))
"""
    assert found("AX201", program) == [14, 24]


def test_layers_that_follow_on_each_other():
    program = f"""{NETWORKS}
class Net(eqx.Module):
    layers: list
    norm: eqx.nn.LayerNorm
    head: eqx.nn.MLP

    def __init__(self, key):
        first, second, third = jax.random.split(key, 3)
        self.layers = [eqx.nn.Linear(4, 8, key=first), eqx.nn.Linear(8, 2, key=second)]
        self.norm = eqx.nn.LayerNorm(2)
        self.head = eqx.nn.MLP(2, "scalar", 8, 1, key=third)

    def __call__(self, x):
        for layer in self.layers:
            x = jnp.tanh(layer(x))
        return self.head(self.norm(x))


def entry(key):
    return jax.vmap(Net(key))(jnp.ones((10, 4))) - jnp.ones(10)
"""
    assert found("AX201", program) == []
    assert found("AX002", program) == []


def test_a_batch_for_a_layer_that_takes_one_example():
    program = f"""{NETWORKS}
def batched(key, tokens, x):
    embed = eqx.nn.Embedding(10, 4, key=key)
    linear = eqx.nn.Linear(4, 4, key=key)
    right = jax.vmap(linear)(jnp.ones((3, 4)))
    wrong = linear(jnp.ones((3, 4)))
    return right + wrong + embed(jnp.zeros(3, int))
"""
    assert found("AX201", program) == [9, 10]


def test_links_of_a_chain_are_gone_through():
    program = f"""{NETWORKS}
class Critic(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.Sequential([nn.Dense(32), nn.LayerNorm(), nn.relu, nn.Dense(1)])(x)


def loss(params, x, returns):
    wrong = Critic().apply(params, jnp.ones((7, 3))) - jnp.ones(7)
    right = Critic().apply(params, jnp.ones((7, 3)))[:, 0] - jnp.ones(7)
    return wrong.mean() + right.mean()


def chained(key):
    first, second = jax.random.split(key)
    layers = [
        eqx.nn.Linear(4, 8, key=first),
        eqx.nn.Lambda(jax.nn.relu),
        eqx.nn.Linear(9, 8, key=second),
    ]
    return eqx.nn.Sequential(layers)(jnp.ones(4))
"""
    assert found("AX002", program) == [12]
    assert found("AX201", program) == [24]


def test_what_is_left_of_a_shape_after_a_loop():
    program = f"""{NETWORKS}
class Net(nn.Module):
    features: tuple

    @nn.compact
    def __call__(self, x):
        for size in self.features:
            x = nn.relu(nn.Dense(size)(x))
        return nn.Dense(1)(x)


def loss(params):
    return Net((8, 8)).apply(params, jnp.ones((7, 3))) - jnp.ones(7)
"""
    assert found("AX002", program) == [16]


def test_one_density_for_each_where_one_for_all_is_promised():
    program = f"""{NETWORKS}
from jaxtyping import Array, Float

class Flow(eqx.Module):
    net: eqx.nn.MLP
    mask: tuple

    def __init__(self, dim, key):
        self.net = eqx.nn.MLP(dim, dim, 8, 1, key=key)
        self.mask = tuple(float(i % 2) for i in range(dim))

    def wrong(self, x: Float[Array, "dim"]) -> Float[Array, ""]:
        return jax.scipy.stats.norm.logpdf(x + self.net(x * jnp.array(self.mask)))

    def right(self, x: Float[Array, "dim"]) -> Float[Array, ""]:
        return jax.scipy.stats.norm.logpdf(x + self.net(x * jnp.array(self.mask))).sum()
"""
    assert found("AX017", program) == [16]


def test_a_column_that_a_network_of_haiku_gives():
    program = """
    import haiku as hk

    def critic_fn(obs):
        return hk.nets.MLP([32, 32, 1])(obs)

    critic = hk.without_apply_rng(hk.transform(critic_fn))

    def loss(params, obs, returns):
        return jnp.mean((critic.apply(params, obs) - returns) ** 2)

    def entry(params, obs, returns):
        return jax.grad(loss)(params, obs, returns)

    def inputs():
        obs = jnp.ones((16, 3))
        return critic.init(jax.random.key(0), obs), obs, jnp.ones(16)
    """
    assert found("AX002", program) == [9]
    assert found("AX002", program.replace("params, obs) -", "params, obs)[:, 0] -")) == []


def test_a_layer_of_an_object_that_goes_into_a_compiled_function():
    program = """
    from flax import nnx

    class Value(nnx.Module):
        def __init__(self, rngs):
            self.head = nnx.Linear(3, 1, rngs=rngs)

        def __call__(self, obs):
            return self.head(obs)

    @nnx.jit
    def error(value, obs, returns):
        return jnp.mean((value(obs) - returns) ** 2)

    def entry(obs, returns):
        return error(Value(nnx.Rngs(0)), obs, returns)

    def inputs():
        return jnp.ones((16, 3)), jnp.ones(16)
    """
    assert found("AX002", program) == [12]
    assert found("AX002", program.replace("head(obs)", "head(obs).squeeze(-1)")) == []


def test_an_ensemble_of_layers_that_a_map_makes():
    program = """
    import equinox as eqx

    class Critic(eqx.Module):
        net: eqx.nn.MLP

        def __init__(self, key):
            self.net = eqx.nn.MLP(3, "scalar", 8, 1, key=key)

        def __call__(self, obs):
            return self.net(obs)

    def entry(key, obs, reward):
        members = eqx.filter_vmap(Critic)(jax.random.split(key, 2))
        values = eqx.filter_vmap(lambda member: jax.vmap(member)(obs))(members)
        return reward + jnp.min(values, axis=1)

    def inputs():
        return jax.random.key(0), jnp.ones((16, 3)), jnp.ones(16)
    """
    assert found("AX201", program) == [15]
    assert found("AX201", program.replace("axis=1", "axis=0")) == []


def test_networks_that_give_a_number_are_copied_by_updates():
    program = f"""{NETWORKS}
def step(net, updates, x):
    net = eqx.apply_updates(net, updates)
    return jax.grad(lambda x: net(x))(x)

def main(key, updates):
    return step(eqx.nn.MLP(3, SIZE, 8, 1, key=key), updates, jnp.ones(3))

def foreign(layers: list[eqx.nn.MLP], x):
    return jax.grad(lambda x: layers[0](x))(x)
"""
    assert found("GR201", program.replace("SIZE", '"scalar"')) == []
    assert len(found("GR201", program.replace("SIZE", "2"))) == 1


LOSSES = """
import optax

AXES = {"scores": "time batch class", "labels": "batch time", "soft": "batch time class"}

def inputs():
    return jnp.ones((5, 5, 3)), jnp.zeros((5, 5), jnp.int32), jnp.ones((5, 5, 3))
"""


def test_labels_in_another_order_than_predictions():
    program = f"""{LOSSES}
def entry(scores, labels, soft):
    hard = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    named = optax.losses.softmax_cross_entropy(logits=scores, labels=soft)
    apart = optax.huber_loss(predictions=scores[..., 0], targets=soft[..., 1])
    return hard.mean() + named.mean() + apart.mean() + optax.kl_divergence(scores, soft).mean()
"""
    assert found("AX001", program) == [9, 10, 11, 12]


def test_labels_in_the_order_of_predictions():
    program = f"""{LOSSES}
def entry(scores, labels, soft):
    scores = scores.swapaxes(0, 1)
    hard = optax.softmax_cross_entropy_with_integer_labels(scores, labels)
    named = optax.losses.softmax_cross_entropy(logits=scores, labels=soft) * hard
    smooth = optax.smooth_labels(soft, alpha=0.1)
    return named * labels + optax.sigmoid_focal_loss(scores, smooth, gamma=2.0).sum(-1)
"""
    assert found("AX001", program) == []


UNFLATTENED = """
    import haiku as hk

    def torso(frames):
        time, batch = frames.shape[:2]
        flat = hk.Flatten()(frames.reshape((time * batch,) + frames.shape[2:]))
        hidden = jax.nn.relu(hk.Linear(8)(flat))
        return hidden.reshape(batch, time, 8)
"""


def test_what_was_merged_is_taken_apart_in_another_order_behind_layers():
    assert found("AX003", UNFLATTENED) == [7]
    assert found("AX003", UNFLATTENED.replace("(batch, time, 8)", "(time, batch, 8)")) == []
    turned = UNFLATTENED.replace("(frames.reshape(", "(frames.swapaxes(0, 1).reshape(")
    assert found("AX003", turned) == []


def test_sizes_behind_flattening():
    program = """
    import haiku as hk

    def entry(frames):
        flat = hk.Flatten(preserve_dims=2)(frames)
        return flat.reshape(flat.shape[0], 6, 5)

    def inputs():
        return (jnp.ones((4, 5, 2, 3)),)
    """
    assert found("AX003", program) == [5]
    assert found("AX003", program.replace("6, 5", "5, 6")) == []
