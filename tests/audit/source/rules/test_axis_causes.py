"""Axes that meet far from where one of them was put into the other's place: that is told."""

from textwrap import dedent

from .reading import found, led_by

ROLLOUT = """
AXES = {"costs": "chain draw", "prices": "chain", "tolls": "draw"}

def inputs():
    return jnp.ones((4, 4)), jnp.ones(4), jnp.ones(4)
"""


def test_a_map_that_was_made_for_another_layout():
    program = """
    def make(score):
        scores = jax.vmap(score, in_axes=1)

        def total(costs, prices):
            paid = jnp.sqrt(scores(costs))
            raised = paid + 1.0
            return raised * prices

        return total

    def entry(costs, prices, tolls):
        return make(jnp.max)(costs, prices).sum()
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]
    (lines,) = led_by("AX001", dedent(program) + ROLLOUT)
    assert lines[-1] == 7


def test_a_mapped_function_gets_the_wrong_axis():
    program = """
    def weighed(row, prices):
        worth = row * prices
        return worth.sum()

    def entry(costs, prices, tolls):
        mapped = jax.vmap(weighed, in_axes=(0, None))
        return mapped(costs, prices).sum()
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [6]


def test_a_reduction_in_a_helper_leaves_the_wrong_axis():
    program = """
    def per_chain(costs):
        return costs.mean(axis=0)

    def entry(costs, prices, tolls):
        dearest = costs.max(axis=1)
        gap = per_chain(costs) - prices
        return gap.sum() + dearest.sum()
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]


def test_a_transposition_that_is_forgotten():
    program = """
    def entry(costs, prices, tolls):
        by_draw = jnp.swapaxes(costs, 0, 1)
        logs = jnp.log1p(by_draw)
        scaled = 2.0 * logs
        return jnp.where(costs > 0, scaled, 0.0)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]


def test_what_has_too_few_axes_is_aligned_where_it_meets():
    program = """
    def entry(costs, prices, tolls):
        worst = costs.max(axis=1)
        late = worst > prices
        return jnp.where(late, 0.0, costs)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [4]


def test_statistics_of_a_value_that_they_are_taken_from():
    program = """
    def centre(costs):
        return costs.mean(axis=1)

    def entry(costs, prices, tolls):
        mean = centre(costs)
        return (costs - mean).sum()
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]


def test_an_alignment_in_the_same_line_is_the_cause():
    program = """
    def entry(costs, prices, tolls):
        worst = costs.max(axis=1)
        late = worst > prices
        return jnp.where(late[None, :], 0.0, costs)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [4]


def test_axes_that_are_reduced_and_mapped_as_they_should():
    program = """
    def per_draw(costs):
        return costs.mean(axis=0)

    def entry(costs, prices, tolls):
        columns = jax.vmap(jnp.sum, in_axes=1)(costs)
        rows = jax.vmap(lambda row: row * tolls)(costs)
        return (per_draw(costs) - columns * tolls) + rows.sum(axis=1) @ costs
    """
    assert found("AX001", dedent(program) + ROLLOUT) == []


def test_an_index_in_a_helper_takes_the_wrong_axis():
    program = """
    def latest(costs):
        return costs[:, -1]

    def entry(costs, prices, tolls):
        now = jnp.log1p(latest(costs))
        again = 2.0 * now
        return again @ tolls
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]


def test_maps_inside_of_maps_in_a_helper():
    program = """
    def table(score, rows, columns):
        along = jax.vmap(score, in_axes=(0, None))
        return jax.vmap(along, in_axes=(None, 0))(rows, columns)

    def entry(costs, prices, tolls):
        pairs = table(jnp.multiply, prices, tolls)
        return pairs @ tolls
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [3]


def test_a_loop_of_python_over_the_wrong_axis():
    program = """
    def entry(costs, prices, tolls):
        level = jnp.zeros_like(prices)
        for paid in costs:
            level = 0.9 * level
            level = level + paid
        return level
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [3]


def test_a_map_that_turns_its_result_round_before_it_is_aligned():
    program = """
    def ranked(costs):
        return jax.vmap(jnp.sort, in_axes=1)(costs)

    def entry(costs, prices, tolls):
        ranks = ranked(costs)
        return ranks / prices[:, None]
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]
    # A map that leaves its lanes where they were did nothing: the alignment did.
    kept = program.replace("in_axes=1", "in_axes=0").replace("prices[:", "tolls[:")
    assert found("AX001", dedent(kept) + ROLLOUT) == [6]


def test_of_two_maps_the_one_that_turns_its_result_round():
    program = """
    def table(fn, costs, out):
        inner = jax.vmap(fn, in_axes=(None, 0))
        return jax.vmap(inner, in_axes=(0, None), out_axes=out)(*costs)

    def entry(costs, prices, tolls):
        paid = table(jnp.minimum, (prices, tolls), 0)
        slopes = table(
            jax.grad(jnp.multiply),
            (prices, tolls),
            out=1,
        )
        change = 0.1 * slopes
        return paid + change
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [10]


def test_the_axis_that_a_helper_is_given_is_told_where_it_is_written():
    reduced = """
    class Summary(NamedTuple):
        mean: jax.Array
        spread: jax.Array

        @classmethod
        def of(cls, costs, axis):
            mean = costs.mean(axis=axis)
            return cls(mean, costs.std(axis=axis))

    def entry(costs, prices, tolls):
        level = Summary.of(costs, axis=0)
        return jnp.abs(level.mean - prices).sum()
    """
    imports = "from functools import partial\nfrom typing import NamedTuple\n"
    assert found("AX001", imports + dedent(reduced) + ROLLOUT) == [14]
    bound = """
    def level(costs, axis):
        return costs.mean(axis)

    class Meter:
        def __init__(self, measure):
            self.measure = measure

        def gap(self, costs, prices):
            return self.measure(costs) - prices

    def entry(costs, prices, tolls):
        meter = Meter(partial(level, axis=0))
        return meter.gap(costs, prices)
    """
    assert found("AX001", imports + dedent(bound) + ROLLOUT) == [15]
    # A constant with a name is chosen where it is used.
    named = """
    CHAIN = 0

    def level(costs):
        return costs.mean(CHAIN)

    def entry(costs, prices, tolls):
        gap = level(costs) - prices
        return gap
    """
    assert found("AX001", dedent(named) + ROLLOUT) == [4]


def test_frequencies_are_no_samples():
    program = """
    AXES = {"signal": "mic sample", "filter": "tap mic", "bank": "frequency band"}

    def entry(signal, filter, bank):
        spectrum = jnp.fft.fft(signal, axis=-1)
        power = jnp.abs(jnp.fft.fft2(filter)) ** 2
        return spectrum @ bank, power @ bank, jnp.fft.fftn(signal) @ bank

    def inputs():
        return jnp.ones((3, 8)), jnp.ones((5, 8)), jnp.ones((8, 2))
    """
    assert found("AX001", dedent(program)) == []
    # What is not transformed is what it was.
    assert found("AX001", dedent(program.replace("(signal, axis=-1)", "(signal, axis=0)"))) == [6]


def test_a_scan_that_stacks_its_turns_first_is_not_to_blame_for_what_is_inside():
    program = """
    AXES = {"start": "chain dim", "kicks": "step chain dim", "weights": "chain step"}

    def inputs():
        return jnp.ones((4, 3)), jnp.ones((4, 4, 3)), jnp.ones((4, 4))

    def forces(points):
        return jax.vmap(jnp.sin)(points)

    def entry(start, kicks, weights):
        def turn(points, kick):
            pull = forces(points)
            return points + pull + kick, (pull * kick).sum(axis=-1)

        _, powers = jax.lax.scan(turn, start, kicks)
        right = (powers.T * weights).sum()
        return right + (powers * weights).sum()
    """
    assert found("AX001", dedent(program)) == [16]


def test_who_gives_a_mask_its_axes_sees_what_it_will_meet():
    program = """
    AXES = {"x": "batch query width", "y": "batch key width", "padded": "batch key"}

    def inputs():
        return jnp.ones((3, 4, 6)), jnp.ones((3, 4, 6)), jnp.ones((3, 4), bool)

    def heads(tokens):
        return jnp.einsum("btw,whd->bhtd", tokens, jnp.ones((6, 2, 3)))

    def entry(x, y, padded):
        scores = jnp.einsum("bhqd,bhkd->bhqk", heads(x), heads(y))
        blocked = padded[:, None, :, None]
        bias = jnp.where(padded[:, None, None, :], -1e9, 0.0)
        cut = 0.5 * scores + bias
        return jnp.where(blocked, -1e9, cut)
    """
    assert found("AX001", dedent(program)) == [11]


def test_an_axis_that_a_helper_is_told_is_decided_by_who_tells_it():
    program = """
    def totals(costs, axis):
        half = 0.5 * costs
        return jnp.cumsum(half, axis=axis)

    class Shares:
        def __init__(self, axis):
            self.axis = axis

        def __call__(self, costs):
            return jax.nn.softmax(costs, axis=self.axis)

    def entry(costs, prices, tolls):
        right = totals(costs, 1)
        wrong = totals(costs, 0)
        shares = Shares(axis=0)(costs)
        return right + wrong + shares
    """
    text = dedent(program) + ROLLOUT.replace("chain", "env").replace("draw", "time")
    assert found("AX006", text) == [14]
    assert found("AX007", text) == [15]


def test_an_axis_that_is_a_default_is_decided_by_the_function():
    program = """
    def totals(costs, axis=0):
        half = 0.5 * costs
        return jnp.cumsum(half, axis=axis)

    def entry(costs, prices, tolls):
        return totals(costs)
    """
    text = dedent(program) + ROLLOUT.replace("chain", "env").replace("draw", "time")
    assert found("AX006", text) == [3]


def test_a_map_is_made_by_a_helper_that_is_told_the_axis_of_each_part():
    program = """
    def total(price, item):
        return jnp.sum(item["cost"]) * price

    def over(axis):
        return jax.vmap(total, in_axes=(None, {"cost": axis}))

    wrong = over(1)
    right = over(0)

    def entry(costs, prices, tolls):
        good = right(2.0, {"cost": costs}) * prices
        return good.sum() + wrong(2.0, {"cost": costs}) * prices
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [7]


def test_a_helper_scans_what_it_is_given_together():
    program = """
    def folded(function, start, rows):
        def body(state, row):
            state = function(state, row)
            return state, state

        return lax.scan(body, start, rows)[1]

    def levels(wells, start):
        return folded(
            lambda level, row: 0.9 * level + row[0] - row[1],
            start,
            tuple(wells),
        )

    def entry(wells, start, depth):
        return levels(wells, start) * depth

    AXES = {"wells": ("trial time", "trial time"), "start": "trial", "depth": "trial time"}

    def inputs():
        return (jnp.ones((5, 5)), jnp.ones((5, 5))), jnp.ones(5), jnp.ones((5, 5))
    """
    assert found("AX005", program) == [6, 9]
    assert found("AX005", program.replace("tuple(wells)", "tuple(x.T for x in wells)")) == []


def test_a_product_gives_its_axes_in_another_order():
    program = """
    def worth(costs, rates):
        return jnp.einsum("cd,c->dc", costs, rates)

    def entry(costs, prices, tolls):
        paid = worth(costs, prices)
        raised = paid + 1.0
        return raised * costs
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]
    assert found("AX001", dedent(program).replace("->dc", "->cd") + ROLLOUT) == []


def test_lanes_are_handed_to_a_recursion_of_steps():
    program = """
    def drift(key, level):
        def step(level, key):
            level = level + jax.random.normal(key)
            return level, level

        return lax.scan(step, level, jax.random.split(key, 5))[1]

    def credits(levels, last):
        def back(total, level):
            total = level + 0.9 * total
            return total, total

        return lax.scan(back, last, levels, reverse=True)[1]

    def entry(keys, start):
        levels = jax.vmap(drift)(keys, start)
        return credits(levels, start)
    """
    assert found("AX005", program) == [13, 17]
    right = program.replace("credits(levels, start)", "jax.vmap(credits)(levels, start)")
    assert found("AX005", right) == []


def test_a_map_gives_back_what_it_takes():
    program = """
    def queues(costs):
        return jax.vmap(lambda row: (row + 1.0, row.max()))(costs)

    def entry(costs, prices, tolls):
        waiting, longest = queues(costs)
        return waiting * longest[None]
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [6]
    assert found("AX001", dedent(program).replace("[None]", "[:, None]") + ROLLOUT) == []


def test_what_makes_an_axis_longer_does_not_move_it():
    program = """
    def bent(costs):
        padded = jnp.pad(costs, ((0, 0), (1, 1)), mode="edge")
        return padded[:, 2:] - 2.0 * costs + padded[:, :-2]

    def entry(costs, prices, tolls):
        start = costs + tolls
        return prices * bent(start)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [7]
    assert found("AX001", dedent(program).replace("prices *", "prices[:, None] *") + ROLLOUT) == []


def test_what_others_rely_on_is_not_to_be_mended():
    program = """
    def by_draw(costs):
        half = 0.5 * costs
        return half.T

    def entry(costs, prices, tolls):
        turned = by_draw(costs)
        dear = turned * prices
        low = jnp.log1p(turned)
        return dear.sum() + (low - costs).sum()
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [9]
    # Without the other use, the helper is what turned it round.
    alone = program.replace("turned * prices", "costs * tolls")
    assert found("AX001", dedent(alone) + ROLLOUT) == [3]


def test_a_product_of_two_arrays_gives_its_axes_in_another_order():
    program = """
    AXES = {"x": "batch feat", "w": "feat hid", "bias": "hid"}

    def inputs():
        return jnp.ones((4, 4)), jnp.ones((4, 4)), jnp.ones(4)

    def project(x, w):
        return jnp.einsum("bf,fh->hb", x, w)

    def entry(x, w, bias):
        lifted = jax.nn.gelu(project(x, w))
        shifted = lifted + bias
        return shifted.max(axis=0) * bias
    """
    assert found("AX001", dedent(program)) == [7]
    assert found("AX001", dedent(program.replace("->hb", "->bh"))) == []


def test_an_argument_that_is_left_whole_is_told_at_its_own_entry():
    program = """
    import dataclasses

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Toll:
        price: jax.Array
        weight: jax.Array

    def axes():
        return Toll(
            price=0,

            weight=None,
        )

    def paid(toll, row):
        worth = row * toll.weight
        return worth.sum() * toll.price

    def entry(toll, costs):
        mapped = jax.vmap(paid, in_axes=(axes(), 0))
        return mapped(toll, costs)

    AXES = {"toll": Toll(price="chain", weight="chain"), "costs": "chain draw"}

    def inputs():
        return Toll(jnp.ones(4), jnp.ones(4)), jnp.ones((4, 4))
    """
    assert found("AX001", program) == [13]
    assert found("AX001", program.replace("weight=None", "weight=0")) == []


def test_nobody_gives_an_array_axes_that_it_does_not_need():
    program = """
    AXES = {"images": "batch row channel", "tint": "channel"}

    def inputs():
        return jnp.ones((4, 4, 4)), jnp.ones(4)

    def channels_first(images):
        return jnp.moveaxis(images, 1, 0)

    def entry(images, tint):
        planes = channels_first(images)
        lit = planes + 0.1
        return lit * tint[:, None, None]
    """
    assert found("AX001", dedent(program)) == [7]
    assert found("AX001", dedent(program.replace("images, 1, 0", "images, 2, 0"))) == []


def test_two_arguments_of_a_call_in_the_wrong_order():
    program = """
    def worth(costs, left, right):
        dear = left @ costs
        both = dear * right
        return both.sum()

    def entry(costs, prices, tolls):
        half = 0.5 * costs
        low = prices - prices.min()
        return worth(half, tolls, low)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [9]
    assert found("AX001", dedent(program).replace("tolls, low", "low, tolls") + ROLLOUT) == []
    # One clash alone is mended by either argument.
    alone = program.replace("dear * right", "dear + right.sum()")
    assert found("AX001", dedent(alone) + ROLLOUT) == [2]


def test_what_a_mapped_function_closes_over_whole():
    program = """
    AXES = {"history": "user step", "length": "user"}

    def inputs():
        return jnp.ones((4, 4)), jnp.ones(4)

    def pooled(history, length):
        real = jnp.arange(history.shape[0]) < length
        kept = history * real
        return kept.sum()

    def entry(history, length):
        def one(history):
            return pooled(history, length)

        return jax.vmap(one)(history)
    """
    assert found("AX001", dedent(program)) == [13]
    given = program.replace("one(history):", "one(history, length):")
    given = given.replace("(one)(history)", "(one)(history, length)")
    assert found("AX001", dedent(given)) == []
