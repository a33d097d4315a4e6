"""What axes mean, followed by reading: from annotations, `verax.axes`, einops and examples."""

from .reading import found

EXAMPLE = """
AXES = {"x": "batch time feat", "mask": "batch time"}

def inputs():
    return jnp.ones((4, 4, 4)), jnp.ones((4, 4))
"""


def test_annotated_axes_meet_in_a_helper():
    program = """
    from jaxtyping import Array, Float

    def masked(values, mask):
        return values * mask

    def loss(x: Float[Array, "batch time feat"], mask: Float[Array, "batch time"]):
        return masked(x, mask).sum()
    """
    assert found("AX001", program) == [4]


def test_annotated_axes_that_are_aligned_first():
    program = """
    from jaxtyping import Array, Float

    def loss(x: Float[Array, "batch time feat"], mask: Float[Array, "batch time"]):
        shifted = x[:, 1:] - x[:, :-1]
        kept = jnp.where(mask[..., None], x, 0.0)
        by_time = jnp.swapaxes(kept, 0, 1) * mask.T[..., None]
        return shifted.sum() + by_time.sum() + jnp.einsum("btf,bt->f", x, mask).sum()
    """
    assert found("AX001", program) == []


def test_a_contraction_of_axes_with_different_names():
    program = """
    from jaxtyping import Array, Float

    def head(x: Float[Array, "batch feat"], w: Float[Array, "hid feat"]):
        return x @ w
    """
    assert found("AX001", program) == [4]


def test_names_by_a_call_of_verax():
    program = """
    import verax

    def loss(x, mask):
        x = verax.axes(x, "batch time feat")
        mask = verax.axes(mask, "batch time")
        pooled = x.mean(axis=1)
        return (pooled * mask).sum()
    """
    assert found("AX001", program) == [7]


def test_a_declaration_that_contradicts_what_is_known():
    program = """
    import verax

    def pool(x):
        x = verax.axes(x, "batch time feat")
        return verax.axes(x.mean(axis=0), "batch feat")
    """
    assert found("AX001", program) == [5]


def test_patterns_of_einops_name_batch_and_time():
    program = """
    from einops import rearrange

    def loss(x, mask):
        x = rearrange(x, "batch time feat -> time batch feat")
        mask = rearrange(mask, "batch time -> batch time 1")
        return x * mask
    """
    assert found("AX001", program) == [6]


def test_letters_of_einops_are_no_names():
    program = """
    from einops import rearrange

    def add(x, table):
        x = rearrange(x, "n h w c -> n (h w) c")
        table = rearrange(table, "(k d) -> k d", d=8)
        return x + table
    """
    assert found("AX001", program) == []


def test_names_of_an_example_go_through_maps_and_scans():
    program = """
    def score(seq):
        def step(total, frame):
            return total + frame.sum(), frame.mean()

        return lax.scan(step, 0.0, seq)[1]

    @jax.jit
    def entry(x, mask):
        scores = jax.vmap(score, in_axes=0, out_axes=1)(x)
        return scores * mask
    """
    assert found("AX001", program + EXAMPLE.replace("\n", "\n    ")) == [10]


def test_two_words_for_the_batch_are_no_contradiction():
    program = """
    def add(x, y):
        batch, features = x.shape
        samples, channels = y.shape
        return x + y
    """
    assert found("AX001", program) == []


def test_batch_and_time_of_unpacked_shapes_meet():
    program = """
    def add(x, y):
        batch, time = x.shape
        time, batch = y.shape
        return x + y
    """
    assert found("AX001", program) == [4]


def test_predictions_with_one_output_against_flat_targets():
    program = """
    from jaxtyping import Array, Float
    import optax

    def loss(w: Float[Array, "feat 1"], x: Float[Array, "n feat"], y: Float[Array, "n"]):
        return optax.l2_loss(x @ w, y).mean()
    """
    assert found("AX002", program) == [5]


def test_a_table_that_is_written_is_meant():
    program = """
    from jaxtyping import Array, Float

    def distances(x: Float[Array, "n"]):
        return jnp.abs(x[:, None] - x), jnp.expand_dims(x, 1) - x, x.reshape(-1, 1) - x
    """
    assert found("AX002", program) == []


def test_a_mean_that_is_kept_meets_its_own_axis():
    program = """
    from jaxtyping import Array, Float

    def centred(x: Float[Array, "n d"], y: Float[Array, "n"]):
        return x.mean(axis=1, keepdims=True) - y
    """
    assert found("AX002", program) == [4]


def test_heads_are_split_in_the_wrong_order():
    program = """
    def split_heads(x, heads):
        batch, time, width = x.shape
        return x.reshape(batch, heads, time, width // heads)
    """
    assert found("AX003", program) == [3]


def test_heads_are_split_and_then_moved():
    program = """
    def split_heads(x, heads):
        batch, time, width = x.shape
        x = x.reshape(batch, time, heads, width // heads).transpose(0, 2, 1, 3)
        return x.swapaxes(1, 2).reshape(batch, time, width)
    """
    assert found("AX003", program) == []


def test_a_squeeze_drops_a_batch_of_one():
    program = """
    AXES = {"w": "feat out", "obs": "batch time feat"}

    class Critic:
        def __call__(self, w, obs):
            return jnp.squeeze(jnp.tanh(obs @ w))

    def entry(w, obs):
        return Critic()(w, obs).mean(axis=0)

    def inputs():
        return jnp.ones((3, 1)), jnp.ones((1, 6, 3))
    """
    assert found("AX004", program) == [5]
    assert found("AX004", program.replace("(1, 6, 3)", "(2, 6, 3)")) == []


def test_a_scan_along_the_batch():
    program = """
    from jaxtyping import Array, Float

    def returns(rewards: Float[Array, "env time"]):
        def step(total, reward):
            total = reward + 0.99 * total
            return total, total

        return lax.scan(step, jnp.zeros(rewards.shape[1]), rewards, reverse=True)[1]
    """
    assert found("AX005", program) == [8]
    repaired = program.replace("shape[1]", "shape[0]").replace(", rewards,", ", rewards.T,")
    assert found("AX005", repaired) == []


def test_a_running_sum_along_environments():
    program = """
    import verax

    def totals(rewards):
        rewards = verax.axes(rewards, "time env")
        return jnp.cumsum(rewards, axis=0), rewards.cumsum(axis=-1)
    """
    assert found("AX006", program) == [5]
    assert found("AX006", program.replace("axis=-1", "axis=0")) == []


def test_a_softmax_over_the_batch():
    program = """
    import verax

    def probabilities(logits):
        logits = verax.axes(logits, "batch action")
        return jax.nn.softmax(logits), jax.nn.log_softmax(logits, 0)
    """
    assert found("AX007", program) == [5]


def test_shapes_that_do_not_fit_through_a_class():
    program = """
    class Net:
        def __init__(self, width):
            self.w = jnp.zeros((3, width))

        def __call__(self, x):
            return x @ self.w

    y = Net(8)(jnp.ones((5, 4)))
    """
    assert found("AX201", program) == [6]


def test_what_may_not_run_or_is_expected_to_fail_is_left_alone():
    program = """
    import pytest

    def add(x, flag):
        if flag:
            return x + jnp.ones(3)
        return x

    def test_failure():
        with pytest.raises(TypeError):
            jnp.ones(4) + jnp.ones(3)

    y = add(jnp.ones(4), input())
    """
    assert found("AX201", program) == []


def test_one_output_of_a_flax_module_against_flat_targets():
    program = """
    import flax.linen as nn

    class Critic(nn.Module):
        width: int

        @nn.compact
        def __call__(self, x):
            return nn.Dense(features=1)(nn.relu(nn.Dense(self.width)(x)))

    def loss(params, model, obs, returns):
        return jnp.mean((model.apply(params, obs) - returns) ** 2)

    model, obs = Critic(64), jnp.ones((32, 4))
    wrong = loss(model.init(jax.random.key(0), obs), model, obs, jnp.ones(32))
    """
    assert found("AX002", program) == [11]
    assert found("AX002", program.replace("jnp.ones(32)", "jnp.ones((32, 1))")) == []


def test_one_output_of_an_equinox_module_under_a_map():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        last: eqx.nn.Linear

        def __call__(self, x):
            return self.last(jax.nn.relu(x))

    def loss(net, x, y):
        squeezed = jax.vmap(net)(x).squeeze(-1)
        return jnp.mean((jax.vmap(net)(x) - y) ** 2) + jnp.mean((squeezed - y) ** 2)

    net = Net(eqx.nn.Linear(8, 1, key=jax.random.key(0)))
    value = loss(net, jnp.ones((16, 8)), jnp.ones(16))
    """
    assert found("AX002", program) == [11]


def test_a_kept_axis_that_is_averaged_with_all_others():
    program = """
    def loss(q, rewards):
        best = q.max(axis=-1, keepdims=True)
        return jnp.mean((rewards + 0.9 * best) ** 2)

    value = loss(jnp.ones((6, 4)), jnp.ones(6))
    """
    assert found("AX002", program) == [3]
    table = program.replace("jnp.mean((rewards + 0.9 * best) ** 2)", "rewards + 0.9 * best")
    assert found("AX002", table) == []


def test_differences_from_one_environment_to_the_next():
    program = """
    import verax

    def changes(rewards):
        rewards = verax.axes(rewards, "env time")
        right = rewards[:, 1:] - rewards[:, :-1]
        return right, rewards[1:] - rewards[:-1]
    """
    assert found("AX006", program) == [6]


def test_the_example_of_a_module_is_followed_into_its_helpers():
    program = """
    RNG = np.random.default_rng(0)
    AXES = {"x": "batch time feat", "mask": "batch time"}

    def array(*shape):
        return jnp.asarray(RNG.normal(size=shape))

    def entry(x, mask):
        return x * mask

    def inputs():
        return array(4, 4, 4), array(4, 4)
    """
    assert found("AX001", program) == [8]


def test_a_total_is_added_to_each_element():
    program = """
    def loss(x, mean):
        error = jnp.sum((x - mean) ** 2, axis=1)
        return jnp.mean(error + 0.1 * jnp.sum(mean**2))

    value = loss(jnp.ones((8, 5)), jnp.ones((8, 5)))
    """
    assert found("AX008", program) == [3]
    assert found("AX008", program.replace("sum(mean**2)", "sum(mean**2, axis=1)")) == []


def test_a_mean_over_all_and_a_deviation_of_each():
    program = """
    from jaxtyping import Array, Float

    def scaled(obs: Float[Array, "batch feat"]):
        centred = obs - obs.mean()
        return centred / jnp.sqrt(jnp.var(obs, axis=0) + 1e-8)
    """
    assert found("AX009", program) == [5]
    assert found("AX009", program.replace("mean()", "mean(0)")) == []


def test_layers_of_an_example_are_gone_through_one_by_one():
    program = """
    class MLP:
        def __init__(self, sizes):
            self.sizes = sizes

        def init(self, key):
            keys = jax.random.split(key, len(self.sizes) - 1)
            sizes = zip(keys, self.sizes[:-1], self.sizes[1:])
            return [(jax.random.normal(k, (m, n)), jnp.zeros(n)) for k, m, n in sizes]

        def __call__(self, params, x):
            for w, b in params:
                x = jnp.tanh(x @ w + b)
            return x

    CRITIC = MLP([4, 32, 1])

    def entry(params, obs, returns):
        return jnp.mean((CRITIC(params, obs) - returns) ** 2)

    def inputs():
        return CRITIC.init(jax.random.key(0)), jnp.ones((6, 4)), jnp.ones(6)
    """
    assert found("AX002", program) == [18]


def test_a_dict_describes_records_by_their_fields():
    program = """
    from typing import NamedTuple

    class Batch(NamedTuple):
        x: object
        mask: object

    AXES = {"batch": {"x": "batch time", "mask": "time batch"}}

    def entry(batch):
        return (batch.x * batch.mask).sum()

    def inputs():
        return (Batch(jnp.ones((4, 4)), jnp.ones((4, 4))),)
    """
    assert found("AX001", program) == [10]
    assert found("AX001", program.replace("time batch", "batch time")) == []


def test_a_result_that_its_annotation_contradicts():
    program = """
    from jaxtyping import Array, Float

    class Critic:
        def both(self, x: Float[Array, "rows cols"]) -> tuple[Float[Array, "cols"], Array]:
            total = x.sum(axis=1)
            return total, x

    def kept(x: Float[Array, "n feat"]) -> Float[Array, "n"]:
        return jnp.linalg.norm(x, axis=-1, keepdims=True)

    def wider(w: Float[Array, "n 3"]) -> Float[Array, "n 4"]:
        return jnp.tanh(w)
    """
    assert found("AX012", program) == [6, 9, 12]


def test_results_that_fit_their_annotations():
    program = """
    from jaxtyping import Array, Float

    def pairs(x: Float[Array, "n dim"]) -> Float[Array, "n n"]:
        return x @ x.T

    def renamed(x: Float[Array, "n dim"]) -> Float[Array, "m dim"]:
        return x

    def either(x: Float[Array, "n dim"]) -> Float[Array, "n"] | Float[Array, "n dim"]:
        return x

    def open_ended(x: Float[Array, "*batch dim"]) -> Float[Array, "*batch"]:
        return x.sum(axis=-1)

    def maybe(x: Float[Array, "n dim"], flag) -> Float[Array, "n dim"] | None:
        if flag:
            return None
        return x - x.mean(axis=0)

    def next_steps(x: Float[Array, "time dim"]) -> Float[Array, "time-1 dim"]:
        return x[1:]
    """
    assert found("AX012", program) == []


def test_an_axis_of_the_batch_is_mapped_away_instead_of_time():
    program = """
    from jaxtyping import Array, Float

    def smooth(signal: Float[Array, "time"]) -> Float[Array, "time"]:
        return jnp.convolve(signal, jnp.ones(3), mode="same")

    def wrong(signals: Float[Array, "batch time"]):
        return jax.vmap(smooth, in_axes=1)(signals)

    def right(signals: Float[Array, "batch time"]):
        return jax.vmap(smooth)(signals)

    def other_words(signals: Float[Array, "batch points"]):
        return jax.vmap(smooth)(signals)

    def drawn(states: Float[Array, "batch n n"]):
        return states.sum(axis=(1, 2))

    def the_only_trajectory(states: Float[Array, "time 1 n n"]):
        return drawn(states[:, 0])
    """
    assert found("AX012", program) == [7]


def test_a_jacobian_has_more_axes_than_a_gradient():
    program = """
    def volume(bijector, size):
        x = jnp.ones((size,))
        scaled = jnp.linalg.slogdet(jax.jacfwd(bijector)(jnp.ones(4)))[1]
        return scaled + jnp.linalg.det(jax.hessian(lambda x: (x ** 2).sum())(jnp.ones(3)))
    """
    assert found("AX201", program) == []


def test_a_product_of_arguments_that_are_not_counted():
    program = """
    def reward(valid, pair):
        return lax.cond(valid, jnp.dot, lambda *_: 0.0, *pair)
    """
    assert found("AX201", program) == []


def test_annotations_of_a_mapped_function_hold_inside_of_the_map():
    program = """
    from jaxtyping import Array, Float

    def scores(q: Float[Array, "query dim"], k: Float[Array, "key dim"]):
        return jnp.einsum("qd,kd->qk", q, k)

    def attend(q: Float[Array, "query dim"], k: Float[Array, "key dim"]):
        return jax.nn.softmax(scores(q, k), axis=-1)

    def heads(q, k):
        return jax.vmap(jax.vmap(attend, in_axes=(1, 1), out_axes=1))(q, k)
    """
    assert found("AX201", program) == []


def test_a_reduction_beside_a_number_of_a_module():
    program = """
    from jaxtyping import Array, Float

    def log_prob(z: Float[Array, "batch dim"]) -> Float[Array, "batch"]:
        return -0.5 * jnp.sum(z**2 + jnp.log(2 * jnp.pi), axis=0)

    def right(z: Float[Array, "batch dim"]) -> Float[Array, "batch"]:
        return -0.5 * jnp.sum(z**2 + jnp.log(2 * jnp.pi), axis=1)
    """
    assert found("AX012", program) == [4]


def test_what_a_function_is_said_to_return():
    program = """
    from jaxtyping import Array, Float

    def value(net, obs: Float[Array, "batch feat"]) -> Float[Array, "batch 1"]:
        return net(obs)

    def error(net, obs: Float[Array, "batch feat"], returns: Float[Array, "batch"]):
        return jnp.mean((value(net, obs) - returns) ** 2)

    def aligned(net, obs: Float[Array, "batch feat"], returns: Float[Array, "batch"]):
        return jnp.mean((value(net, obs)[:, 0] - returns) ** 2)
    """
    assert found("AX002", program) == [7]


def test_a_squeeze_that_would_drop_a_declared_batch():
    program = """
    from jaxtyping import Array, Float

    def value(net, obs: Float[Array, "batch feat"]) -> Float[Array, "batch 1"]:
        return net(obs)

    def flat(net, obs: Float[Array, "batch feat"]):
        return value(net, obs).squeeze()

    def right(net, obs: Float[Array, "batch feat"], scale: Float[Array, "1 1 feat"]):
        return value(net, obs).squeeze(-1), scale.squeeze(), jnp.squeeze(value(net, obs), axis=1)
    """
    assert found("AX004", program) == [7]


def test_attention_that_is_normalised_over_its_queries():
    program = """
    from functools import partial
    from jaxtyping import Array, Float

    over_rows = partial(jax.nn.softmax, axis=-2)

    def weights(logits: Float[Array, "head query key"], soft):
        return soft(logits / 8.0)

    def wrong(logits: Float[Array, "head query key"]):
        return jax.nn.softmax(jnp.where(logits > 9.0, 9.0, logits), axis=-2)

    def right(logits: Float[Array, "head query key"], slots: Float[Array, "slot input"]):
        return jax.nn.softmax(logits.swapaxes(1, 2), axis=1), jax.nn.softmax(slots, axis=0)

    def both(logits: Float[Array, "head query key"]):
        return weights(logits, over_rows), weights(logits, jax.nn.softmax)
    """
    assert found("AX013", program) == [7, 10]


def test_statistics_that_were_reduced_over_the_wrong_axes_elsewhere():
    program = """
    from jaxtyping import Array, Float

    def statistics(obs):
        return obs.mean(axis=(0, 2)), jnp.std(obs, axis=(0, 2))

    def standardised(obs, mean, std):
        return (obs - mean) / (std + 1e-8)

    def observe(obs: Float[Array, "time env feat"]):
        return standardised(obs, *statistics(obs))
    """
    assert found("AX001", program)[:1] == [4]


def test_an_annotation_of_a_result_may_be_what_is_wrong():
    program = """
    from jaxtyping import Array, Float

    def features(layers, x) -> Float[Array, "classes"]:
        for layer in layers:
            x = layer(x)
        return x

    def pooled(layers, x):
        return features(layers, x).mean((1, 2))
    """
    assert found("AX201", program) == []
