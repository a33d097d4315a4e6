"""What is done along an axis that is known by its name: batch, time, heads, environments."""

from .reading import found


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


def test_differences_from_one_environment_to_the_next():
    program = """
    import verax

    def changes(rewards):
        rewards = verax.axes(rewards, "env time")
        right = rewards[:, 1:] - rewards[:, :-1]
        return right, rewards[1:] - rewards[:-1]
    """
    assert found("AX006", program) == [6]


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


def test_axes_of_one_come_and_go_by_reshaping():
    program = """
    class Batches:
        def __init__(self, rows, size, devices=1):
            self.devices = devices
            self.batched = jnp.zeros((devices, len(rows) // size, size, 3))
            if devices == 1:
                self.batched = self.batched.reshape(self.batched.shape[1:])

        def split(self):
            def one(x):
                return x.reshape(x.shape[0] // self.devices, self.devices, *x.shape[1:])

            self.batched = jax.tree.map(one, self.batched)

    def exchanged(x):
        batch, time, width = x.shape
        return x.reshape(1, time, batch, width)
    """
    assert found("AX003", program) == [16]


def test_a_total_that_is_added_to_each_over_some_layers():
    program = """
    def couple(scale, x):
        log_scale = jnp.tanh(x @ scale)
        return x * jnp.exp(log_scale), jnp.sum(log_scale)

    def log_prob(scales, x):
        total = jnp.zeros(x.shape[0])
        for scale in scales:
            x, log_det = couple(scale, x)
            total = total + log_det
        return -0.5 * jnp.sum(x**2, axis=-1) + total

    def entry(scales, x):
        return -jnp.mean(log_prob(scales, x))

    def inputs():
        return [jnp.ones((3, 3)), jnp.ones((3, 3))], jnp.ones((8, 3))
    """
    assert found("AX008", program) == [3]
    assert found("AX008", program.replace("sum(log_scale)", "sum(log_scale, -1)")) == []


def test_recursions_that_go_backwards_over_the_lanes_of_a_map():
    program = """
    def returns(gains, start):
        return lax.scan(lambda g, r: (r + 0.9 * g, r), start, gains, reverse=True)

    def play(start, keys):
        def turn(x, key):
            x = 0.9 * x + jax.random.normal(key)
            return x, -x

        return lax.scan(turn, start, keys)[1]

    def over_lanes(starts, keys):
        return returns(jax.vmap(play)(starts, keys), jnp.zeros(5))

    def over_steps(starts, keys):
        return returns(jax.vmap(play)(starts, keys).T, jnp.zeros(5))

    def steps_first(starts, keys):
        return returns(jax.vmap(play, out_axes=1)(starts, keys), jnp.zeros(5))

    def forwards(starts, keys):
        gains = jax.vmap(play)(starts, keys)
        return lax.scan(lambda best, it: (jnp.maximum(best, it), best), jnp.zeros(5), gains)
    """
    assert found("AX005", program) == [2, 12]


def test_a_running_value_that_gets_another_axis():
    program = """
    class Moments(NamedTuple):
        mean: jax.Array
        count: jax.Array

        def add(self, batch, axis):
            n = batch.shape[0]
            delta = batch.mean(axis) - self.mean
            return Moments(self.mean + delta * n / (self.count + n), self.count + n)

    def run(add):
        moments = Moments(jnp.zeros(3), jnp.zeros(()))
        for _ in range(10):
            moments = add(moments)
        return moments

    def wrong():
        return run(lambda it: it.add(jnp.ones((8, 4, 3)), 0))

    def right():
        return run(lambda it: it.add(jnp.ones((8, 4, 3)), (0, 1)))

    def from_a_number():
        total = jnp.zeros(())
        for _ in range(10):
            total = total + jnp.ones(3)
        return total
    """
    assert found("AX020", program) == [7]


def test_parts_of_two_axes_that_are_put_together_without_a_transposition():
    program = """
    def strips(image, k):
        h, w, c = image.shape
        return image.reshape(h // k, w // k, k * k * c)

    def patches(image, k):
        h, w, c = image.shape
        cells = image.reshape(h // k, k, w // k, k, c)
        return cells.transpose(0, 2, 1, 3, 4).reshape((h // k) * (w // k), k * k * c)

    def chunks(sound, k):
        n, c = sound.shape
        return sound.reshape(n // k, k * c), sound.T.reshape(c, k, n // k)
    """
    assert found("AX003", program) == [3]


def test_a_merged_axis_is_taken_apart_in_another_order():
    program = """
    def scores(x):
        envs, steps, feat = x.shape
        flat = x.reshape(envs * steps, feat)
        hidden = jax.nn.gelu(flat - flat.mean(axis=0))
        return hidden.max(axis=-1).reshape(steps, envs)

    def kept(x):
        envs, steps, feat = x.shape
        hidden = jnp.tanh(x.reshape(envs * steps, feat))
        return hidden[:, 0].reshape(envs, steps).T

    def shuffled(x, order):
        envs, steps, feat = x.shape
        flat = jnp.take(x.reshape(envs * steps, feat), jnp.argsort(order), axis=0)
        return flat[:, 0].reshape(steps, envs)
    """
    assert found("AX003", program) == [5]


def test_an_associative_scan_from_one_env_to_the_next():
    program = """
    from jaxtyping import Array, Float

    def totals(gains: Float[Array, "env time"]):
        wrong = lax.associative_scan(jnp.add, gains)
        right = lax.associative_scan(jnp.add, gains, reverse=True, axis=1)
        both = lax.associative_scan(
            lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (gains.T, gains.T)
        )
        return wrong, right, both
    """
    assert found("AX006", program) == [4]


def test_loops_of_python_that_hand_a_state_from_env_to_env():
    program = """
    from jaxtyping import Array, Float

    def smoothed(gains: Float[Array, "env time"]):
        level = jnp.zeros(gains.shape[1])
        rows = []
        for i in range(gains.shape[0]):
            level = 0.9 * level + gains[i]
            rows.append(level)
        return jnp.stack(rows)

    def walked(gains: Float[Array, "env time"]):
        level = jnp.zeros(gains.shape[1])
        for row in gains:
            level = jnp.tanh(level * row)
        return level

    def right(gains: Float[Array, "env time"]):
        level = jnp.zeros(gains.shape[0])
        for t in reversed(range(gains.shape[1])):
            level = 0.9 * level + gains[:, t]
        return level
    """
    assert found("AX005", program) == [6, 13]


def test_what_is_only_summed_over_the_batch():
    program = """
    from jaxtyping import Array, Float

    def totals(gains: Float[Array, "env time"]):
        start = jnp.zeros(gains.shape[1])
        total, _ = lax.scan(lambda acc, row: (acc + row, None), start, gains)
        best, _ = lax.scan(lambda acc, row: (jnp.maximum(acc, row), None), start, gains)
        squares = start
        for row in gains:
            squares = squares + row**2
        return total, best, squares

    def filtered(gains: Float[Array, "env time"]):
        start = jnp.zeros(gains.shape[1])
        return lax.scan(lambda acc, row: (0.9 * acc + row, None), start, gains)
    """
    assert found("AX005", program) == [14]


def test_a_roll_from_one_env_to_the_next():
    program = """
    from jaxtyping import Array, Float

    def following(values: Float[Array, "env time"]):
        wrong = jnp.roll(values, -1, axis=0)
        return wrong, jnp.roll(values, shift=-1, axis=1)

    def strangers(codes: Float[Array, "batch time feat"]):
        return jnp.roll(codes, 1, axis=0)
    """
    assert found("AX006", program) == [4]


def test_sensors_have_histories_of_their_own():
    program = """
    from jaxtyping import Array, Float

    def smoothed(readings: Float[Array, "sensor time"]):
        def step(level, reading):
            level = 0.9 * level + 0.1 * reading
            return level, reading - level

        return lax.scan(step, readings[0], readings[1:])

    def deeper(blocks: Float[Array, "layer time feat"], x: Float[Array, "time feat"]):
        return lax.scan(lambda h, block: (jnp.tanh(h * block), None), x, blocks)
    """
    assert found("AX005", program) == [8]


def test_a_helper_that_scans_what_it_is_given():
    program = """
    from jaxtyping import Array, Float

    def decayed(gains):
        def step(total, gain):
            total = gain + 0.9 * total
            return total, total

        return lax.scan(step, jnp.zeros_like(gains[0]), gains)[1]

    def smooth(gains):
        return decayed(gains)

    def score(gains: Float[Array, "utterance time"], weights: Float[Array, "utterance"]):
        levels = smooth(gains)
        return levels.sum(axis=1) @ weights
    """
    assert found("AX005", program) == [8, 14]
    repaired = program.replace(
        "smooth(gains)\n        return levels.", "smooth(gains.T)\n        return levels.T."
    )
    assert found("AX005", repaired) == []
    # Who has weights for the same elements can see what is in front.
    inside = program.replace(
        "def smooth(gains):", 'def smooth(gains, weights: Float[Array, "utterance"]):'
    )
    inside = inside.replace("smooth(gains)\n", "smooth(gains, weights)\n")
    assert found("AX005", inside) == [8, 11]


def test_a_map_over_time_around_a_recursion():
    program = """
    AXES = {"gains": "env time", "decay": "env time"}

    def decayed(gains, decay):
        def step(total, it):
            gain, keep = it
            return gain + keep * total, total

        return lax.scan(step, 0.0, (gains, decay), reverse=True)[1]

    def entry(gains, decay):
        scaled = 0.9 * decay
        return jax.vmap(decayed, in_axes=1, out_axes=1)(gains, scaled)

    def inputs():
        return jnp.ones((4, 4)), jnp.ones((4, 4))
    """
    assert found("AX005", program) == [12]
    assert found("AX005", program.replace("in_axes=1, out_axes=1", "in_axes=0")) == []
    # Agents may act one after the other, in each step.
    assert found("AX005", program.replace("env time", "agent time")) == []
    total = program.replace("gain + keep * total", "gain * keep + total")
    assert found("AX005", total) == []


def test_a_parallel_scan_along_the_batch():
    program = """
    AXES = {"x": "batch time feat"}

    def merge(one, other):
        return one[0] * other[0], other[0] * one[1] + other[1]

    def entry(x):
        decay = jnp.full_like(x, 0.9)
        _, states = lax.associative_scan(merge, (decay, 2.0 * x))
        return states

    def along(x):
        return lax.associative_scan(merge, (0.9 * x, x), axis=1)[1]

    def inputs():
        return (jnp.ones((4, 4, 3)),)
    """
    assert found("AX005", program) == [8]
    assert found("AX005", program.replace("2.0 * x))", "2.0 * x), axis=-2)")) == []
    mapped = program.replace("2.0 * x))", "2.0 * x), axis=1)").replace("def entry", "def other")
    mapped = mapped.replace("def along", "def entry").replace(
        "lax.associative_scan(merge, (0.9 * x, x), axis=1)[1]",
        "jax.vmap(lambda it: lax.associative_scan(merge, (0.9 * it, it)), in_axes=1)(x)[1]",
    )
    assert found("AX005", mapped) == [12]


def test_merged_axes_of_known_sizes_are_taken_apart_in_their_order():
    program = """
    NAMES = ("scout", "medic", "tank")

    def entry(layers, obs):
        stacked = jnp.stack([obs[name] for name in NAMES])
        rows = stacked.reshape(stacked.shape[0] * stacked.shape[1], -1)
        for w in layers:
            rows = jnp.tanh(rows @ w)
        swapped = rows[:, 0].reshape(5, 3)
        right = rows[:, 0].reshape(3, 5).T
        square = (rows.T @ jnp.ones((15, 15))).reshape(8, 5, 3)
        return swapped + right, square

    def inputs():
        return [jnp.ones((4, 8)), jnp.ones((8, 8))], {name: jnp.ones((5, 4)) for name in NAMES}
    """
    assert found("AX003", program) == [8]
    named = "AXES = {'layers': ['feat hid', 'hid hid'], 'obs': dict.fromkeys(NAMES, 'env feat')}"
    counted = program.replace("(5, 3)", "(stacked.shape[1], 3)").replace("(3, 5)", "(3, -1)")
    assert found("AX003", f"{counted}\n    {named}") == [8]


def test_a_scan_over_the_batch_of_which_each_element_has_a_row_of_the_state():
    program = """
    def cell(params, h, x):
        return jnp.tanh(jnp.concatenate([x, h], axis=-1) @ params)

    def wrong(params, xs):
        batch_size, seq_len, _ = xs.shape
        h0 = jnp.zeros((batch_size, 8))
        return lax.scan(lambda h, x: (cell(params, h, x), None), h0, xs)

    def right(params, xs):
        batch_size, seq_len, _ = xs.shape
        h0 = jnp.zeros((batch_size, 8))
        return lax.scan(lambda h, x: (cell(params, h, x), None), h0, xs.swapaxes(0, 1))

    def filled(params, xs):
        batch_size, seq_len, _ = xs.shape

        def body(carry, x):
            table, i = carry
            return (jnp.tanh(table).at[i].set((x @ params).sum(axis=0)), i + 1), None

        return lax.scan(body, (jnp.zeros((batch_size, 8)), 0), xs)

    def summed(params, xs):
        batch_size, seq_len, _ = xs.shape
        total = jnp.zeros((batch_size, 8))
        return lax.scan(lambda h, x: (h + params(x), None), total, xs)
    """
    assert found("AX005", program) == [7]
