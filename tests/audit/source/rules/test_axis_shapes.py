"""Shapes that do not fit, and axes of one element that are dropped or kept by mistake."""

import pytest

from .reading import found


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

    def truth_table():
        return jnp.array([[0], [1]]) * jnp.array([0, 1])
    """
    assert found("AX002", program) == []


def test_a_table_that_is_only_added_up_is_none_that_anyone_wants():
    program = """
    from jaxtyping import Array, Float

    def spread(x):
        return x[..., None]

    def energy(x: Float[Array, "n"], y: Float[Array, "n"], w: Float[Array, "n n"]):
        terms = spread(x) * y
        pairs = w * (x[:, None] * y), (x[:, None] - y) ** 2, jnp.abs(spread(x) - y)
        return (0.5 - terms).sum(), sum(it.sum() for it in pairs)
    """
    assert found("AX002", program) == [7]


def test_a_mean_that_is_kept_meets_its_own_axis():
    program = """
    from jaxtyping import Array, Float

    def centred(x: Float[Array, "n d"], y: Float[Array, "n"]):
        return x.mean(axis=1, keepdims=True) - y
    """
    assert found("AX002", program) == [4]


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


def test_a_squeeze_that_drops_what_is_one_by_chance():
    program = """
    def entry(scores, rows):
        best = scores.max(axis=-1, keepdims=True)
        margin = best - lax.dynamic_slice_in_dim(scores, 2, 1, axis=-1)
        written = jnp.squeeze(rows[:, None].max(axis=-1, keepdims=True))
        other = rows.sum(axis=0, keepdims=True).squeeze()
        return jnp.squeeze(margin), written, other, jnp.squeeze(margin, axis=-1)

    def inputs():
        return jnp.ones((4, 1, 7)), jnp.ones((6, 7))
    """
    assert found("AX004", program) == [6]
    assert found("AX004", program.replace("(4, 1, 7)", "(4, 5, 7)")) == []
    assert found("AX004", program.replace("(4, 1, 7)", "(1, 1, 7)")) == []


def test_a_squeeze_of_what_a_window_over_the_whole_picture_leaves():
    program = """
    def entry(frames, kernel):
        layout = ("NHWC", "HWIO", "NHWC")
        maps = lax.conv_general_dilated(frames, kernel, (2, 2), "VALID", dimension_numbers=layout)
        window = (1, *maps.shape[1:3], 1)
        pooled = lax.reduce_window(maps, -jnp.inf, lax.max, window, (1, 1, 1, 1), "VALID")
        return jnp.squeeze(pooled), jnp.squeeze(pooled, axis=(1, 2))

    def inputs():
        return jnp.ones((1, 9, 9, 3)), jnp.ones((3, 3, 3, 6))
    """
    assert found("AX004", program) == [6]
    assert found("AX004", program.replace("(1, 9, 9, 3)", "(2, 9, 9, 3)")) == []


def test_the_shape_of_a_jacobian():
    program = """
    from jaxtyping import Array, Float

    def observe(x: Float[Array, "state"]) -> Float[Array, "obs"]:
        return jnp.stack([x[0] + x[1], x[1]])

    def correct(mean: Float[Array, "state"], cov: Float[Array, "state state"], z):
        slope = jax.jacfwd(observe)(jnp.ones(4))
        curve: Float[Array, "obs state state"] = jax.hessian(observe)(jnp.ones(4))
        gain = jnp.eye(4) @ slope.T
        return gain @ jnp.ones(2), slope @ jnp.ones(2), curve @ mean

    def spread(cov: Float[Array, "state state"], other):
        noise: Float[Array, "obs state"] = other.noise()
        return noise @ cov @ noise.T, cov @ noise
    """
    assert found("AX201", program) == [10]
    assert found("AX001", program) == [14]


def test_moving_averages_are_renewed_by_statistics_of_their_own_axes():
    program = """
    class Norm(NamedTuple):
        mean: jax.Array
        var: jax.Array

    def all_as_one(norm, x):
        mean = jnp.mean(x)
        return norm._replace(mean=norm.mean + 0.1 * (mean - norm.mean))

    def one_an_env(norm, x, decay):
        var = x.var(axis=0)
        return norm._replace(var=decay * norm.var + (1.0 - decay) * var)

    def merged(norm, x, count, total):
        delta = x.mean(axis=1) - norm.mean
        return norm._replace(mean=norm.mean + delta * count / total)

    def right(norm, x):
        mean = x.mean(axis=(0, 1))
        kept = x.var(axis=(0, 1), keepdims=True)
        return Norm(0.9 * norm.mean + 0.1 * mean, 0.9 * norm.var + 0.1 * kept[0, 0])

    def duller(x):
        return 0.7 * x + 0.3 * jnp.mean(x)

    x, norm = jnp.ones((8, 4, 3)), Norm(jnp.zeros(3), jnp.ones(3))
    renewed = all_as_one(norm, x), one_an_env(norm, x, jnp.float32(0.9)), right(norm, x)
    more = merged(norm, x, 32, jnp.float32(50.0))
    images = duller(jnp.ones((2, 5, 5)))
    """
    assert found("AX020", program) == [6, 10, 14]


def test_an_array_is_reshaped_to_its_own_sizes_in_another_order():
    program = """
    def swapped(x):
        return jnp.reshape(x, (x.shape[1], x.shape[0], x.shape[2]))

    def first_two(x):
        rows, columns = x.shape[:2]
        return x.reshape(columns, rows, -1)

    def leaves(tree):
        return jax.tree.map(lambda x: x.reshape((x.shape[1], x.shape[0]) + x.shape[2:]), tree)
    """
    assert found("AX003", program) == [2, 6, 9]


def test_an_array_keeps_the_order_of_its_own_sizes():
    program = """
    def halves(x):
        return x.reshape(x.shape[0], x.shape[1], 4, -1)

    def moved(x):
        rows, columns = x.shape[:2]
        return jnp.swapaxes(x, 0, 1).reshape(columns, rows, -1)

    def merged(tree):
        return jax.tree.map(lambda x: x.reshape((x.shape[0] * x.shape[1],) + x.shape[2:]), tree)

    def by_columns(x):
        return x.reshape(x.shape[1], x.shape[0], order="F")
    """
    assert found("AX003", program) == []


def test_a_column_meets_a_row_where_one_chooses():
    program = """
    def chosen(w, x, ended, after):
        values = x @ w
        return jnp.where(ended[:, None], values, after).mean()

    def kept(w, x, ended, after):
        return jnp.where(ended[:, None], x, after[:, None]).mean()

    def entry(w, x, ended, after):
        return chosen(w, x, ended, after) + kept(w, x, ended, after)

    def inputs():
        return jnp.ones((3, 1)), jnp.ones((6, 3)), jnp.ones(6, bool), jnp.ones(6)
    """
    assert found("AX002", program) == [3]


def test_a_vector_that_was_made_a_column_to_solve_for_it():
    program = """
    def solved(gram, y):
        factor = jax.scipy.linalg.cho_factor(gram)
        return jax.scipy.linalg.cho_solve(factor, y[:, None])

    def error(gram, features, y):
        return jnp.mean((features @ solved(gram, y) - y) ** 2)

    def right(gram, features, y):
        return jnp.mean((features @ solved(gram, y) - y[:, None]) ** 2)

    one = error(jnp.eye(6), jnp.ones((6, 6)), jnp.ones(6))
    other = right(jnp.eye(6), jnp.ones((6, 6)), jnp.ones(6))
    """
    assert found("AX002", program) == [6]


def test_one_output_whose_steps_are_shifted():
    program = """
    def errors(w, x, last, rewards):
        values = jnp.tanh(x) @ w
        following = jnp.concatenate([values[1:], last[None]], axis=0)
        return rewards + following - values

    made = errors(jnp.ones((3, 1)), jnp.ones((6, 3)), jnp.ones(1), jnp.ones(6))
    """
    assert found("AX002", program) == [4]


def test_patches_are_put_together_without_a_transposition():
    program = """
    def whole(tiles, k):
        n, h, w, _ = tiles.shape
        tiles = tiles.reshape(n, h, w, k, k, -1)
        return tiles.reshape(n, h * k, w * k, -1)
    """
    assert found("AX003", program) == [4]
    turned = program.replace("return tiles", "return tiles.transpose(0, 1, 3, 2, 4, 5)")
    assert found("AX003", turned) == []
    assert found("AX003", program.replace("n, h * k, w * k, -1", "n, h * w, k * k, -1")) == []


TILES = """
    SIDE, K = 16, 4

    def entry(tiles):
        rows = cols = SIDE // K
        tiles = tiles.reshape(3, rows, cols, K, K)
        return tiles.reshape(3, SIDE, SIDE)

    def inputs():
        return (jnp.ones((3, 16, 16)),)
"""


def test_what_was_split_is_merged_under_another_name():
    assert found("AX003", TILES) == [6]
    assert found("AX003", TILES.replace("(3, SIDE, SIDE)", "(3, rows * cols, K * K)")) == []
    assert found("AX003", TILES.replace("(3, SIDE, SIDE)", "(3, rows * K, cols * K)")) == [6]
    assert found("AX003", TILES.replace("return tiles", "return tiles.swapaxes(2, 3)")) == []
    used = TILES.replace(
        "return tiles.reshape(3, SIDE, SIDE)", "return tiles.sum(1), tiles.reshape(3, SIDE, -1)"
    )
    assert found("AX003", used) == []


SHUFFLED = """
    def minibatches(key, walks, count):
        walkers, length = walks.shape
        order = jax.random.permutation(key, walkers * length)
        flat = jnp.take(walks.reshape(-1), order, axis=0)
        return flat.reshape(count, walkers // count, length)

    def samples(key, walks, count, size):
        flat = walks.reshape((count * size,) + walks.shape[2:])
        flat = flat[jax.random.permutation(key, count * size)]
        return flat.reshape((count, size) + walks.shape[2:])
"""


def test_steps_in_a_random_order_make_no_sequences():
    assert found("AX003", SHUFFLED) == [5]
    rows = SHUFFLED.replace("key, walkers * length", "key, walkers")
    assert found("AX003", rows.replace("walks.reshape(-1)", "walks")) == []


@pytest.mark.parametrize(
    "density",
    [
        "stats.norm.logpdf(y, mean, 0.1)",
        "stats.norm.logpdf(y, loc=mean, scale=0.1)",
        "stats.laplace.pdf(y, mean)",
        "stats.poisson.logpmf(y, jnp.exp(mean))",
        "stats.vonmises.logpdf(y, mean)",
        "stats.norm.logcdf(y, mean)",
    ],
)
def test_one_output_against_flat_targets_in_a_density(density: str):
    program = f"""
    from jax.scipy import stats

    def log_likelihood(w, x, y):
        mean = x @ w
        return {density}.sum()

    def main(x, w):
        return log_likelihood(w, x, x[:, 0] + x[:, 1])

    main(jnp.ones((9, 2)), jnp.ones((2, 1)))
    """
    assert found("AX002", program) == [5]
    assert found("AX002", program.replace("x @ w", "(x @ w)[:, 0]")) == []


def test_the_sizes_of_lists_that_numpy_makes_arrays_of():
    program = """
    def ends(pairs):
        first, last = np.asarray(pairs).T
        return jnp.asarray(np.concatenate([first, last]))

    def main(weights):
        places = ends([(0, 1), (1, 2), (2, 0)])
        return jnp.zeros((6, 3))[places] + weights

    main(jnp.ones((5, 3)))
    """
    assert found("AX201", program) == [7]
    assert found("AX201", program.replace("(5, 3)", "(6, 3)")) == []


def test_axes_that_are_turned_round_and_sizes_that_are_not_known():
    program = """
    def f(key, n):
        noise = jax.random.normal(key, (n, 4, 7))
        return noise.T + jnp.ones((7, 1))

    def g(n):
        return jnp.eye(n) + jax.nn.one_hot(jnp.arange(3), n + 1)
    """
    assert found("AX201", program) == [3, 6]
    assert found("AX201", program.replace("noise.T", "noise.mT").replace("n + 1", "n")) == []


KEPT = """
    def size(x):
        return jnp.sum(x**2, axis=-1, keepdims=True)

    def entry(a, b, rows):
        unit = {unit}
        return jnp.mean((rows - 0.5 * size(b)) ** 2) + unit.sum()

    def inputs():
        return jnp.ones((5, 3)), jnp.ones((5, 3)), jnp.ones(5)
    """


def test_a_column_is_told_where_a_function_keeps_it_for_one_call_alone():
    assert found("AX002", KEPT.format(unit="a / 2")) == [2]
    assert found("AX002", KEPT.format(unit="a / size(a)")) == [6]
