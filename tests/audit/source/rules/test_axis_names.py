"""What axes are said to be: by annotations, `verax.axes`, einops and examples."""

import textwrap

from .reading import found, found_of

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
    assert found("AX001", program) == [6]


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
    assert found("AX001", program + EXAMPLE.replace("\n", "\n    ")) == [9]


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


def test_a_last_axis_of_one_is_there_to_be_broadcast():
    program = """
    AXES = {"nodes": "node feat", "score": {"w": "feat one", "b": "one"}}

    def entry(nodes, score):
        weights = jax.nn.softmax(nodes @ score["w"] + score["b"], axis=0)
        return jnp.sum(weights * nodes, axis=0)

    def inputs():
        return jnp.ones((5, 6)), {"w": jnp.ones((6, 1)), "b": jnp.zeros(1)}
    """
    assert found("AX001", program) == []
    wide = program.replace("(6, 1)", "(6, 6)").replace("zeros(1)", "zeros(6)")
    assert found("AX001", wide) == [5]


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
    assert found("AX012", program) == [6, 12]
    assert found("AX017", program) == [9]


def test_an_annotation_that_the_code_contradicts():
    program = """
    from jaxtyping import Array, Float
    from dataclasses import dataclass

    @dataclass
    class Pages:
        rows: Float[Array, "pages size heads dim"]
        either: Float[Array, "pages size groups packing dim"] | Float[Array, "pages size dim"]

        def turned(self):
            return jnp.transpose(self.rows, (0, 1, 2)), jnp.transpose(self.either, (0, 2, 1))

        def flat(self) -> Float[Array, "pages size dim"]:
            return self.either

    def rotated(x, freqs: Float[Array, "seq dim"]):
        return x * freqs[:, :, None, :]

    def shaped(x: Float[Array, "seq dim"]):
        y = jnp.zeros((3, 4, 5))
        return x + y[0, 0, 0, 0]
    """
    assert found("AX017", program) == [10, 16]
    assert found("AX201", program) == [20]


def test_two_names_for_one_axis():
    program = """
    from jaxtyping import Array, Float

    def residual(x: Float[Array, "batch seq dim"], layer) -> Float[Array, "batch seq dim"]:
        added: Float[Array, "batch_size seq dim"] = layer(x)
        return added

    def exchanged(x: Float[Array, "batch seq dim"], layer) -> Float[Array, "batch seq dim"]:
        added: Float[Array, "seq batch dim"] = layer(x)
        return added
    """
    assert found("AX012", program) == [9]


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


def test_a_reduction_beside_a_number_of_a_module():
    program = """
    from jaxtyping import Array, Float

    def log_prob(z: Float[Array, "batch dim"]) -> Float[Array, "batch"]:
        return -0.5 * jnp.sum(z**2 + jnp.log(2 * jnp.pi), axis=0)

    def right(z: Float[Array, "batch dim"]) -> Float[Array, "batch"]:
        return -0.5 * jnp.sum(z**2 + jnp.log(2 * jnp.pi), axis=1)
    """
    assert found("AX012", program) == [4]


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


def test_a_softmax_over_the_batch_that_is_written_out():
    program = """
    from jaxtyping import Array, Float
    from jax.scipy.special import logsumexp

    def wrong(log_weights: Float[Array, "batch particle"]):
        return log_weights - logsumexp(log_weights, axis=0)[None, :]

    def kept(log_weights: Float[Array, "batch particle"]):
        return log_weights - jax.nn.logsumexp(log_weights, axis=0, keepdims=True)

    def right(log_weights: Float[Array, "batch particle"]):
        return log_weights - logsumexp(log_weights, axis=1, keepdims=True)

    def mean(log_weights: Float[Array, "batch particle"]):
        return logsumexp(log_weights, axis=0) - jnp.log(log_weights.shape[0])
    """
    assert found("AX007", program) == [5, 8]


def test_candidates_that_are_weighed_against_each_other():
    program = """
    from jaxtyping import Array, Float

    def refit(costs: Float[Array, "sample env"], plans: Float[Array, "sample env time"]):
        weights = jax.nn.softmax(-costs, axis=0)
        return jnp.sum(weights[..., None] * plans, axis=0)

    def wrong(costs: Float[Array, "sample env"]):
        return jax.nn.softmax(-costs, axis=1)
    """
    assert found("AX007", program) == [8]


def test_a_shift_moves_features_where_time_was_meant():
    program = """
    from jaxtyping import Array, Float

    def delayed(x: Float[Array, "time feat"], first: Float[Array, "time one"]):
        return jnp.concatenate([first, x[:, :-1]], axis=1)
    """
    assert found("AX006", program) == [4]
    right = program.replace("x[:, :-1]], axis=1", "x[:-1]], axis=0")
    assert found("AX006", right) == []
    # Half of the features in front of the other half: a rotation, no step.
    halves = program.replace("x[:, :-1]", "x[:, :8]")
    assert found("AX006", halves) == []


def test_a_roll_along_features_and_one_of_the_batch():
    program = """
    from jaxtyping import Array, Float

    def before(x: Float[Array, "batch time feat"]):
        return jnp.roll(x, 1, axis=-1)
    """
    assert found("AX006", program) == [4]
    assert found("AX006", program.replace("axis=-1", "axis=0")) == []
    assert found("AX006", program.replace("axis=-1", "axis=1")) == []
    assert found("AX006", program.replace("x, 1,", "x, 4,")) == []


def test_one_of_named_components_broadcasts():
    program = """
        AXES = {"x": "mass coord"}

        def entry(x):
            below = x[:, 2:] < 0.0
            return jnp.where(below, -x, x)

        def inputs():
            return (jnp.ones((8, 3)),)
    """
    assert found_of("axis", program) == []
    assert found_of("axis", program.replace("x[:, 2:]", "x[:, 1:]")) == [("AX201", 5)]


LISTED = """
AXES = {"x": "batch time feat", "mask": "batch time", "start": "batch"}

def inputs():
    return jnp.ones((4, 4, 3)), jnp.ones((4, 4)), jnp.ones(4)
"""


def test_what_is_stacked_out_of_a_list_is_as_long_as_the_list():
    program = """
    def entry(x, mask, start):
        scores = jnp.stack([x[:, t].sum(-1) for t in range(x.shape[1])])
        last = jnp.stack([x[:, t].sum(-1) for t in range(x.shape[1])], axis=-1)
        return (scores * mask).sum() + (last * mask).sum()
    """
    assert found("AX001", textwrap.dedent(program) + LISTED) == [4]


def test_what_is_written_into_a_part_has_the_axes_of_the_part():
    program = """
    def entry(x, mask, start):
        right = mask.at[:, 0].set(start)
        wrong = mask.at[0].set(start)
        return right + wrong
    """
    assert found("AX001", textwrap.dedent(program) + LISTED) == [3]


def test_a_table_of_all_pairs_that_is_made_from_a_size_is_of_any_pairs():
    program = """
    AXES = {"q": "batch query dim", "k": "batch key dim", "pad": "batch key"}

    def causal(n):
        return jnp.tril(jnp.ones((n, n), bool))

    def entry(q, k, pad):
        scores = jnp.einsum("bqd,bkd->bqk", q, k)
        at = jnp.arange(q.shape[1])
        late = at[:, None] < at[None, :]
        allowed = causal(q.shape[1]) & ~pad[:, None, :]
        scores = jnp.where(allowed, scores, -1e9) + jnp.where(late, -1e9, 0.0)
        return jax.nn.softmax(scores + pad[:, :, None])

    def inputs():
        return jnp.ones((3, 4, 8)), jnp.ones((3, 4, 8)), jnp.ones((3, 4), bool)
    """
    assert found("AX001", program) == [12]


SPREAD = """
    def entry(mean, spread, step):
        return step @ mean, step @ spread @ step.T

    AXES = {"mean": "state", "spread": "state state2", "step": "state next"}

    def inputs():
        return jnp.ones(4), jnp.ones((4, 4)), jnp.ones((4, 4))
"""


def test_a_second_axis_of_the_same_things_is_one_of_them():
    assert found("AX001", SPREAD) == []
    assert found("AX001", SPREAD.replace("state state2", "state sensor")) == [2]
    assert found("AX001", SPREAD.replace("state next", "next sensor")) != []


ECHOES = """
    from jaxtyping import Array, Float

    def peak(signal: Float[Array, "time"]) -> Float[Array, ""]:
        return jnp.cumsum(signal).max()

    def peaks(signals: Float[Array, "buoy time"]) -> Float[Array, "buoy"]:
        return jax.vmap(peak, in_axes=1)(signals)
"""


def test_a_map_takes_the_axis_away_that_the_function_asks_for():
    assert found("AX012", ECHOES)[:1] == [7]
    assert found("AX012", ECHOES.replace("in_axes=1", "in_axes=0")) == []
    # Words of its own say nothing of who calls.
    other = ECHOES.replace('"time"]) -> Float[Array, ""]', '"n"]) -> Float[Array, ""]')
    assert 7 not in found("AX012", other.replace('"buoy"]:', '"time"]:'))


def test_a_second_axis_of_the_same_things_in_annotations():
    program = """
    from jaxtyping import Array, Float

    def worth(mine: Float[Array, "act"], yours: Float[Array, "act"], pay: Float[Array, "act act2"]):
        return mine @ pay @ yours
    """
    assert found("AX001", program) == []
    assert found("AX001", program.replace("act2", "rival")) == [4]
