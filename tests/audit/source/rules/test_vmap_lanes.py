"""What a lane of a map has, and what it is mistaken for; told where it is to be mended."""

import pytest

from .reading import found


def test_the_line_that_takes_away_the_axis_which_is_asked_for():
    program = """
    from jaxtyping import Array, Float

    def last(h):
        return jnp.take(h, -1, axis=1)

    def encode(h):
        return jnp.tanh(last(h))

    def logits(h: Float[Array, "time feat"], head: Float[Array, "feat out"]):
        return encode(h) @ head
    """
    assert found("AX001", program) == [4]
    assert found("AX001", program.replace("axis=1", "axis=0")) == []


def test_the_entry_of_a_dict_that_maps_what_is_shared():
    program = """
    from jaxtyping import Array, Float

    AXES_OF = {
        "bias": None,
        "scale": 0,
    }

    def layer(params, x):
        return params["scale"] * x + params["bias"]

    def apply(
        scale: Float[Array, "feat"], bias: Float[Array, "feat"], x: Float[Array, "batch feat"]
    ):
        mapped = jax.vmap(layer, in_axes=(AXES_OF, 0))
        return mapped({"scale": scale, "bias": bias}, x)
    """
    assert found("VM001", program) == [5]
    assert found("VM001", program.replace('"scale": 0', '"scale": None')) == []


def test_elements_of_the_mapped_axis_by_the_name_of_a_parameter():
    program = """
    from jaxtyping import Array, Float

    def drift(walkers):
        start = walkers[0]
        return jnp.sum((walkers - start) ** 2)

    def spread(x: Float[Array, "walker particle dim"]):
        return jax.vmap(drift)(x)
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("walkers[0]", "jnp.take(walkers, 0, axis=0)")) == [4]
    assert found("VM003", program.replace("walkers[0]", "jnp.take(walkers, 0, axis=1)")) == []
    # One walker has a first particle.
    assert found("VM003", program.replace("walkers", "walker")) == []


def test_statistics_of_what_is_called_a_batch_and_is_one_element():
    program = """
    from jaxtyping import Array, Float

    def centre(batch):
        mean = jnp.mean(batch, axis=0)
        return batch - mean

    def apply(x: Float[Array, "batch patch feat"]):
        return jax.vmap(centre)(x)
    """
    assert found("VM003", program) == [4]
    of_device = program.replace("batch patch feat", "device batch feat")
    assert found("VM003", of_device) == []


def test_the_size_of_a_population_is_not_that_of_a_member():
    program = """
    def share(noise, score):
        population = noise.shape[0]
        return score * noise / population

    def gradient(noises, scores):
        return jax.vmap(share)(noises, scores).sum(axis=0)

    def main():
        return gradient(jnp.ones((12, 6)), jnp.ones(12))
    """
    assert found("VM003", program) == [2]


def test_what_a_lane_closes_over_is_summed_with_its_own_components():
    program = """
    from jaxtyping import Array, Float

    def advance(x, force):
        return x + 0.1 * force

    def costs(x: Float[Array, "env dim"], gain: Float[Array, "dim"]):
        forces = -gain * x

        def one(row):
            new = advance(row, forces)
            return (new**2).sum()

        return jax.vmap(one)(x)
    """
    assert found("VM002", program) == [10]
    apart = program.replace("(new**2).sum()", "(new**2).sum(axis=-1)")
    assert found("VM002", apart) == []


def test_nested_maps_whose_results_have_their_axes_the_other_way_round():
    program = """
    from jaxtyping import Array, Float

    def kernel(a, b):
        return jnp.exp(-jnp.sum((a - b) ** 2))

    def gram(left, right):
        rows = jax.vmap(kernel, in_axes=(0, None))

        return jax.vmap(rows, in_axes=(None, 0))(left, right)

    def predict(
        query: Float[Array, "query dim"], train: Float[Array, "point dim"], y: Float[Array, "point"]
    ):
        weights = gram(train, train) @ y
        return gram(query, train) @ weights
    """
    assert found("AX001", program) == [9]
    assert found("AX001", program.replace("(query, train)", "(query, train).T")) == []


def test_the_length_of_what_a_lane_makes_is_named_after_the_mapped_axis():
    program = """
    from jaxtyping import Array, Float

    def move(walker, noise):
        moved = 0.9 * walker + noise
        n_walkers = len(moved)
        return moved / n_walkers

    def step(walkers: Float[Array, "walker dim"], noise: Float[Array, "walker dim"]):
        return jax.vmap(move)(walkers, noise)
    """
    assert found("VM003", program) == [5]
    assert found("VM003", program.replace("n_walkers", "n_dims")) == []


def test_components_relative_to_the_first_of_them():
    program = """
    from jaxtyping import Array, Float

    def offset(state):
        position = jnp.tanh(state)
        leader = position[0]
        return position - leader

    def offsets(x: Float[Array, "drone dim"]):
        return jax.vmap(offset)(x)
    """
    assert found("VM003", program) == [5]
    # Steps since the first one, scores beside that of the first class.
    assert found("VM003", program.replace("drone dim", "drone time")) == []
    assert found("VM003", program.replace("drone dim", "batch classes")) == []
    assert found("VM003", program.replace("jax.vmap(offset)(x)", "offset(x)")) == []


def test_one_trajectory_has_a_first_step():
    program = """
    from jaxtyping import Array, Float

    def drift(trajectory):
        start = trajectory[0]
        return jnp.sum((trajectory - start) ** 2)

    def spread(x: Float[Array, "batch time dim"]):
        return jax.vmap(drift)(x)
    """
    assert found("VM003", program) == []
    assert found("VM003", program.replace("trajectory", "trajectories")) == [4]


def test_components_of_one_agent_whose_name_ends_like_that_of_several():
    program = """
    from jaxtyping import Array, Float

    def turned(agent_pos):
        return agent_pos[2] + 1.0

    def facing(x: Float[Array, "agent part"]):
        return jax.vmap(turned)(x)
    """
    assert found("VM003", program) == []
    assert found("VM003", program.replace("agent_pos", "agents")) == [4]


def test_what_a_record_has_is_one_element_as_well():
    program = """
    from jaxtyping import Array, Float

    def loss(w, batch):
        batch_size = batch["x"].shape[0]
        reference = jax.tree.map(lambda leaf: leaf[0], batch)
        return jnp.sum((batch["x"] - reference["x"]) * w) / batch_size

    def total(w, x: Float[Array, "batch time"]):
        return jax.vmap(loss, in_axes=(None, 0))(w, {"x": x}).sum()
    """
    assert found("VM003", program) == [4, 5]
    assert found("VM003", program.replace("batch", "row").replace("row time", "env time")) == []


def test_statistics_of_what_is_made_from_one_element():
    program = """
    from jaxtyping import Array, Float

    def whiten(features):
        batch_mean = features.mean(axis=0)
        return features - batch_mean

    def embed(frames):
        return whiten(jnp.log1p(frames**2))

    def apply(x: Float[Array, "batch time bin"]):
        return jax.vmap(embed)(x)
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("batch time bin", "seed batch bin")) == []
    assert found("VM003", program.replace("batch_mean", "level")) == []


def test_all_data_for_the_length_of_one_datum():
    program = """
    from jaxtyping import Array, Float

    def log_density(w, row, num_data):
        return num_data / len(row) * jnp.dot(row, w)

    def total(w, rows: Float[Array, "batch feat"]):
        return jax.vmap(lambda row: log_density(w, row, 400))(rows).sum()
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("num_data", "width")) == []


SUMMED = """
    def loss(w, x, y):
        {name} = x.shape[0]
        return jnp.sum((x @ w - y) ** 2) / {name}

    def main():
        w, x, y = jnp.ones((3, 2)), jnp.ones((8, 3)), jnp.ones((8, 2))
        return jax.vmap(loss, in_axes=(None, 0, 0))(w, x, y).{total}()
"""


def test_a_sum_over_lanes_that_were_divided_by_a_length_of_their_own():
    assert found("VM003", SUMMED.format(name="n", total="sum")) == [2]
    assert found("VM003", SUMMED.format(name="num_features", total="sum")) == []
    assert found("VM003", SUMMED.format(name="n", total="mean")) == []
    own = SUMMED.format(name="n", total="sum").replace("x.shape[0]", "y.shape[0]")
    assert found("VM003", own) == []


PER_EXAMPLE = """
    def loss(params, x):
        return jnp.sum((x @ params["w"] + params["b"]) ** 2)

    def gradient(w, b, x):
        params = dict(w=w, b=b)
        per_example = jax.vmap(jax.grad(loss){0})(params, x)
        norms = jax.vmap(lambda g: jnp.sqrt(jnp.sum(g["w"] ** 2)))(per_example)
        clipped = jax.vmap(lambda g, n: jax.tree.map(lambda a: a / n, g))(per_example, norms)
        return {1}
"""


def test_gradients_are_added_up_of_parameters_that_are_mapped():
    total = "jax.tree.map(lambda g: g.sum(axis=0), clipped)"
    assert found("VM001", PER_EXAMPLE.format("", total)) == [6]
    assert found("VM001", PER_EXAMPLE.format(", in_axes=(None, 0)", total)) == []
    # Of several models, each has its own.
    assert found("VM001", PER_EXAMPLE.format("", "clipped")) == []
    of_each = "jax.tree.map(lambda g: g.sum(axis=-1), clipped)"
    assert found("VM001", PER_EXAMPLE.format("", of_each)) == []


def test_the_last_step_is_picked_along_the_axis_behind_it():
    program = """
    from jaxtyping import Array, Float

    def summary(states):
        last = states[:, -1]
        return jnp.tanh(last).sum()

    def apply(x: Float[Array, "batch time dim"]):
        return jax.vmap(summary)(x)
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("last", "height")) == []
    assert found("VM003", program.replace("last", "last_feature")) == []
    assert found("VM003", program.replace(":, -1", "-1")) == []
    assert found("VM003", program.replace("time dim", "dim time")) == []
    assert found("VM003", program.replace("jax.vmap(summary)(x)", "summary(x)")) == []


def test_the_shape_of_what_a_lane_has_made_is_taken_apart():
    program = """
    from jaxtyping import Array, Float

    def loss(x):
        n_envs, _ = x.shape
        return x.sum() / n_envs

    def total(x: Float[Array, "env time dim"]):
        return jax.vmap(loss)(x).sum()
    """
    assert found("VM003", program) == [4]
    assert found("VM003", program.replace("n_envs", "steps")) == []
    # The steps that one environment takes, which it has a count of.
    assert found("VM003", program.replace("n_envs", "num_env_steps")) == []
    assert found("VM003", program.replace("n_envs", "env_step_count")) == []
    assert found("VM003", program.replace("n_envs", "num_envs_per_device")) == [4]
    assert found("VM003", program.replace("n_envs", "local_env_count")) == [4]


EMBEDDED = """
    def penalty(code):
        examples = code.shape[0]
        return jnp.abs(code).max() / examples

    def total(w, x):
        codes = x @ w
        return jax.vmap(lambda row: penalty({0}))({1}).mean()

    def main():
        return total(jnp.ones((5, 3)), jnp.ones((8, 5)))
"""


def test_a_row_of_similarities_has_one_for_each_example():
    assert found("VM003", EMBEDDED.format("row @ w", "x")) == [2]
    assert found("VM003", EMBEDDED.format("row", "codes")) == [2]
    assert found("VM003", EMBEDDED.format("row", "codes @ codes.T")) == []
    assert found("VM003", EMBEDDED.format("codes @ row", "codes")) == []


def test_axes_that_are_written_before_the_map():
    program = """
    from jaxtyping import Array, Float

    AXES_OF = (0, 0)

    def layer(scale, x):
        return scale * x

    def apply(scale: Float[Array, "feat"], x: Float[Array, "batch feat"]):
        return jax.vmap(layer, in_axes=AXES_OF)(scale, x)
    """
    assert found("VM001", program) == [3]
    assert found("VM001", program.replace("in_axes=AXES_OF", "in_axes=(0, 0)")) == [9]
    assert found("VM001", program.replace("(0, 0)", "(None, 0)")) == []


COUNTED = """
def {name}(batch):
    return {length}

def scaled(w, example):
    return jnp.dot(example["x"], w) * example["y"] * {name}(example)

def main(w, batch):
    return jax.vmap(scaled, in_axes=(None, 0))(w, batch)

def entry(w, x, y):
    return main(w, {{"x": x, "y": y}})

def inputs():
    return jnp.ones(3), jnp.ones(({rows})), jnp.ones(8)
"""


@pytest.mark.parametrize(
    ("name", "length", "rows", "lines"),
    [
        ("weight", '1.0 / batch["x"].shape[0]', "8, 3", [2]),
        ("batch_size", 'batch["x"].shape[0]', "8, 3", [2]),
        ("batch_size", "len(jax.tree.leaves(batch)[0])", "8, 3", [2]),
        ("width", 'batch["x"].shape[0]', "8, 3", []),
        ("weight", '1.0 / batch["x"].shape[1]', "8, 4, 3", []),
        # One of several batches.
        ("weight", '1.0 / batch["x"].shape[0]', "8, 4, 3", []),
    ],
)
def test_a_helper_counts_what_one_lane_has(name: str, length: str, rows: str, lines: list[int]):
    assert found("VM003", COUNTED.format(name=name, length=length, rows=rows)) == lines


@pytest.mark.parametrize(
    ("name", "array", "lines"),
    [("n", "batch", [2]), ("width", "batch", []), ("n_features", "batch", []), ("n", "one", [])],
)
def test_a_lane_of_a_batch_is_counted_under_any_name(name: str, array: str, lines: list[int]):
    program = f"""
    def loss(w, {array}):
        {name} = len({array}["x"])
        return (jnp.dot({array}["x"], w) - {array}["y"]) ** 2 / {name}

    def entry(w, batch):
        return jax.vmap(loss, in_axes=(None, 0))(w, batch)

    def inputs():
        return jnp.ones(3), {{"x": jnp.ones((8, 3)), "y": jnp.ones(8)}}
    """
    assert found("VM003", program) == lines


@pytest.mark.parametrize(
    ("count", "total", "lines"),
    [
        ("particle.shape[0]", "logsumexp", [2]),
        ("particle.shape[0]", "log_softmax", []),
        ("2", "logsumexp", []),
    ],
)
def test_a_mean_in_logarithms_by_a_length_of_one_lane(count: str, total: str, lines: list[int]):
    program = f"""
    def weight(particle, seen):
        return -jnp.sum((particle - seen) ** 2) - jnp.log({count})

    def entry(particles, seen):
        return jax.nn.{total}(jax.vmap(weight, in_axes=(0, None))(particles, seen))

    def inputs():
        return jnp.ones((32, 4)), jnp.ones(4)
    """
    assert found("VM003", program) == lines


@pytest.mark.parametrize(
    ("axes", "line"),
    [
        ("Task(\n    x=0,\n    y=None,\n)", 10),
        ("Task(\n    0,\n    None,\n)", 10),
        ("(\n    0,\n    None,\n)", 10),
    ],
)
def test_the_entry_of_a_named_tuple_that_is_to_be_mended(axes: str, line: int):
    program = f"""
from typing import NamedTuple

class Task(NamedTuple):
    x: jax.Array
    y: jax.Array

AXES_OF_TASK = \\
{axes}

def loss(w, task):
    return jnp.mean((jnp.sum(task[0] * w) - task[1]) ** 2)

def entry(w, x, y):
    task = {"Task(x, y)" if "Task" in axes else "(x, y)"}
    return jax.vmap(loss, in_axes=(None, AXES_OF_TASK))(w, task)

def inputs():
    return jnp.ones(3), jnp.ones((6, 3)), jnp.ones(6)

AXES = {{"w": "feat", "x": "task feat", "y": "task"}}
"""
    assert found("VM002", program) == [line]


OBJECTS = """
from typing import NamedTuple

class Ball(NamedTuple):
    centre: jax.Array

    def depth(self, x):
        return {depth}

def mean_square(ball, x):
    return jnp.mean((x - ball.centre) ** 2)

def entry(centres, x):
    balls = jax.vmap(Ball)(centres)
    return {called}

def inputs():
    return jnp.ones((5, 2)), jnp.zeros(({rows}, 2))
"""
ALL = "jnp.sum((x - self.centre) ** 2)"


@pytest.mark.parametrize(
    ("depth", "called", "rows", "lines"),
    [
        (ALL, "balls.depth(x)", 5, [14]),
        (ALL, "Ball(centres).depth(x)", 5, []),
        (ALL, "jax.vmap(Ball.depth)(balls, x)", 5, []),
        (ALL, "balls.depth(x[0])", 3, []),
        (ALL, "mean_square(balls, x)", 5, []),
        ("jnp.sum((x - self.centre) ** 2, axis=-1)", "balls.depth(x)", 5, []),
    ],
)
def test_a_method_of_one_object_is_called_on_many(
    depth: str, called: str, rows: int, lines: list[int]
):
    assert found("VM009", OBJECTS.format(depth=depth, called=called, rows=rows)) == lines
