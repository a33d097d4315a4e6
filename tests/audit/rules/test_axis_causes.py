"""Axes that meet far from where one of them was put into the other's place: that is told."""

from textwrap import dedent

import jax

from .claims import assert_claims

AXES = """
AXES = {"costs": "chain draw", "prices": "chain", "tolls": "draw"}

def inputs():
    return jnp.ones((4, 4)), jnp.ones(4), jnp.ones(4)
"""


def test_a_map_that_puts_its_lanes_in_front():
    program = """
    def entry(costs, prices, tolls):
        sorted_draws = jax.vmap(jnp.sort, in_axes=1)(costs)  # AX001
        logs = jnp.log1p(sorted_draws)
        scaled = 2.0 * logs
        return scaled - costs
    """
    assert_claims("axis", dedent(program) + AXES)


def test_a_mapped_function_gets_the_wrong_axis():
    program = """
    def weighed(row, prices):
        worth = row * prices
        return worth.sum()

    def entry(costs, prices, tolls):
        return jax.vmap(weighed, in_axes=(0, None))(costs, prices).sum()  # AX001
    """
    assert_claims("axis", dedent(program) + AXES)


def test_a_reduction_in_a_helper_leaves_the_wrong_axis():
    program = """
    def per_chain(costs):
        return costs.mean(axis=0)  # AX001

    def entry(costs, prices, tolls):
        dearest = costs.max(axis=1)
        gap = per_chain(costs) - prices
        return gap + dearest
    """
    assert_claims("axis", dedent(program) + AXES)


def test_who_hands_two_layouts_on_is_told_once():
    program = """
    def gap(one, other):
        apart = one - other
        return jnp.abs(apart)

    def smoothed(costs):
        def step(total, row):
            total = 0.9 * total + row
            return total, total

        return lax.scan(step, jnp.zeros(costs.shape[0]), costs.T)[1]

    def entry(costs, prices, tolls):
        smooth = smoothed(costs)
        apart = gap(smooth, costs)  # AX001
        squared = smooth**2
        return (squared + apart) * costs
    """
    assert_claims("axis", dedent(program) + AXES)


def test_what_makes_the_same_choice_beside_it_is_changed_with_it():
    program = """
    def moments(costs):
        mean = costs.mean(axis=0)  # AX001
        spread = jnp.sum(costs**2, axis=0) - mean**2
        return mean, spread

    def entry(costs, prices, tolls):
        mean, spread = moments(costs)
        raised = 1.0 + spread
        return mean * prices, raised
    """
    assert_claims("axis", dedent(program) + AXES)


def test_two_maps_that_give_one_layout_are_changed_together():
    program = """
    def gaps(costs, tolls):
        least = jax.vmap(jnp.minimum, in_axes=(1, 0))(costs, tolls)
        most = jax.vmap(jnp.maximum, in_axes=(1, 0))(costs, tolls)  # AX001
        return most - least

    def entry(costs, prices, tolls):
        wide = jnp.sqrt(gaps(costs, tolls))
        return wide * costs
    """
    assert_claims("axis", dedent(program) + AXES)


def test_what_has_too_few_axes_is_aligned_where_it_meets():
    program = """
    def entry(costs, prices, tolls):
        worst = costs.max(axis=1)
        late = worst > prices
        return jnp.where(late, 0.0, costs), jnp.where(late[None, :], 0.0, costs)  # AX001
    """
    assert_claims("axis", dedent(program) + AXES)


def test_a_map_that_turns_its_result_round_before_it_is_aligned():
    program = """
    def ranked(costs):
        return jax.vmap(jnp.sort, in_axes=1)(costs)  # AX001

    def entry(costs, prices, tolls):
        ranks = ranked(costs)
        return ranks / prices[:, None]
    """
    assert_claims("axis", dedent(program) + AXES)
    kept = """
    def ranked(costs):
        return jax.vmap(jnp.sort)(costs)

    def entry(costs, prices, tolls):
        ranks = ranked(costs)
        return ranks / tolls[:, None]  # AX001
    """
    assert_claims("axis", dedent(kept) + AXES)


def test_what_a_scan_stacks_is_aligned_where_it_meets():
    program = """
    def entry(costs, prices, tolls):
        def step(total, cost):
            return total + cost, total * cost

        totals = jax.lax.scan(step, jnp.zeros(4), costs.T)[1]
        return totals - costs  # AX001
    """
    assert_claims("axis", dedent(program) + AXES)


def test_frequencies_are_no_samples():
    program = """
    AXES = {"signal": "mic sample", "bank": "frequency band"}

    def entry(signal, bank):
        return jnp.abs(jnp.fft.fft(signal)) @ bank, jnp.abs(jnp.fft.rfft2(signal, (3, 14))) @ bank

    def inputs():
        return jnp.ones((3, 8)), jnp.ones((8, 2))
    """
    assert_claims("axis", dedent(program))
    along_mics = program.replace("fft(signal)", "fft(signal, axis=0)")
    assert_claims("axis", dedent(along_mics.replace(" @ bank,", " @ bank,  # AX001\n       ")))


def test_a_map_over_time_around_a_recursion():
    program = """
    AXES = {"gains": "env time"}

    def inputs():
        return (jnp.ones((4, 4)),)

    def decayed(gains):
        return jax.lax.scan(lambda total, gain: (gain + 0.9 * total, total), 0.0, gains)[1]

    def summed(gains):
        return jax.lax.scan(lambda total, gain: (gain + total, None), 0.0, gains)[0]

    def entry(gains):
        right = jax.vmap(decayed)(gains).sum() + jax.vmap(summed, in_axes=1)(gains).sum()
        return right + jax.vmap(decayed, in_axes=1)(gains).sum()  # AX005
    """
    assert_claims("axis", dedent(program))


def test_some_components_of_a_thing_are_another_thing():
    program = """
    AXES = {"pose": "dof", "landmarks": "landmark plane", "times": "time"}

    def inputs():
        return jnp.ones(3), jnp.ones((4, 2)), jnp.ones(3)

    def entry(pose, landmarks, times):
        gap = landmarks - pose[None, :2]
        return gap, landmarks.T + pose[1:, None], landmarks + times[None, 1:]  # AX001
    """
    assert_claims("axis", dedent(program))
    whole = """
    AXES = {"pose": "dof", "landmarks": "landmark plane"}

    def inputs():
        return jnp.ones(2), jnp.ones((4, 2))

    def entry(pose, landmarks):
        return landmarks - pose[None, :2]  # AX001
    """
    assert_claims("axis", dedent(whole))


def test_a_squeeze_that_drops_what_is_one_by_chance():
    program = """
    def inputs():
        return jnp.ones((4, 1, 7)), jnp.ones((6, 1, 7))

    def entry(scores, rows):
        best = scores.max(axis=-1, keepdims=True)
        margin = best - jax.lax.dynamic_slice_in_dim(scores, 2, 1, axis=-1)
        alone = jnp.squeeze(scores[0].max(axis=-1, keepdims=True))
        picture = rows.transpose(0, 2, 1).sum(axis=1, keepdims=True).squeeze()
        return jnp.squeeze(margin), alone, picture, jnp.squeeze(margin, axis=-1)  # AX004
    """
    assert_claims("axis", dedent(program))
    more = program.replace("(4, 1, 7)", "(4, 5, 7)").replace("  # AX004", "")
    assert_claims("axis", dedent(more))


def test_a_squeeze_of_what_a_window_over_the_whole_picture_leaves():
    program = """
    def inputs():
        return (jnp.ones((1, 9, 9, 3)),)

    def entry(maps):
        window = (1, *maps.shape[1:3], 1)
        pooled = jax.lax.reduce_window(maps, 0.0, jax.lax.add, window, (1, 1, 1, 1), "VALID")
        return jnp.squeeze(pooled), jnp.squeeze(pooled, axis=(1, 2))  # AX004
    """
    assert_claims("axis", dedent(program))
    assert_claims("axis", dedent(program.replace("(1, 9", "(2, 9").replace("  # AX004", "")))


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
        return right + (powers * weights).sum()  # AX001
    """
    assert_claims("axis", dedent(program))


def test_who_gives_a_mask_its_axes_sees_what_it_will_meet():
    program = """
    AXES = {"x": "batch query width", "y": "batch key width", "padded": "batch key"}

    def inputs():
        return jnp.ones((3, 4, 6)), jnp.ones((3, 4, 6)), jnp.ones((3, 4), bool)

    def heads(tokens):
        return jnp.einsum("btw,whd->bhtd", tokens, jnp.ones((6, 2, 3)))

    def entry(x, y, padded):
        scores = jnp.einsum("bhqd,bhkd->bhqk", heads(x), heads(y))
        blocked = padded[:, None, :, None]  # AX001
        bias = jnp.where(padded[:, None, None, :], -1e9, 0.0)
        cut = 0.5 * scores + bias
        return jnp.where(blocked, -1e9, cut)
    """
    assert_claims("axis", dedent(program))


def test_a_second_axis_of_the_same_things_is_one_of_them():
    program = """
    def entry(mean, spread, step):
        return step @ mean, step @ spread @ step.T

    AXES = {"mean": "state", "spread": "state state2", "step": "state next_state"}

    def inputs():
        return jnp.ones(4), jnp.ones((4, 4)), jnp.ones((4, 4))
    """
    assert_claims("axis", dedent(program))
    assert_claims(
        "axis", dedent(program).replace("state2", "sensor").replace("step.T", "step.T  # AX001")
    )


def test_patches_are_put_together_without_a_transposition():
    program = """
    def entry(tiles):
        return jnp.tanh(tiles).reshape(3, 8, 10, 2)  # AX003

    def inputs():
        return (jnp.ones((3, 4, 5, 2, 2, 2)),)
    """
    assert_claims("axis", dedent(program))
    right = program.replace("jnp.tanh(tiles)", "jnp.tanh(tiles).transpose(0, 1, 3, 2, 4, 5)")
    assert_claims("axis", dedent(right).replace("  # AX003", ""))


def test_copies_are_merged_in_another_order():
    program = """
    def entry(weather, yields):
        fields = jnp.stack([yields, 2.0 * yields]).reshape(-1)
        return fields * jnp.repeat(weather, 2)  # AX001

    AXES = {"weather": "farm", "yields": "farm"}

    def inputs():
        return jnp.ones(5), jnp.ones(5)
    """
    assert_claims("axis", dedent(program))
    right = program.replace("jnp.repeat(weather, 2)  # AX001", "jnp.tile(weather, 2)")
    assert_claims("axis", dedent(right))
    pairs = right.replace("fields *", "jnp.repeat(yields, 2) *")
    assert_claims("axis", dedent(pairs))


def test_turns_of_a_loop_are_not_what_each_of_them_takes_further():
    program = """
    def entry(key, level, gain):
        def step(level, key):
            level = 0.9 * level + jax.random.normal(key, level.shape)
            return level, level

        level, levels = jax.lax.scan(step, level, jax.random.split(key, 6))
        return level, levels.T * gain[None]  # AX001

    AXES = {"level": "env", "gain": "env"}

    def inputs():
        return jax.random.key(0), jnp.ones(6), jnp.ones(6)
    """
    assert_claims("axis", dedent(program))
    right = program.replace("levels.T * gain[None]  # AX001", "levels * gain[None]")
    assert_claims("axis", dedent(right))


def test_a_map_gives_back_what_it_takes():
    program = """
    def queues(costs):
        return jax.vmap(lambda row: (row + 1.0, row.max()))(costs)

    def entry(costs, prices, tolls):
        waiting, longest = queues(costs)
        return waiting * longest[None]
    """
    wrong = program.replace("longest[None]", "longest[None]  # AX001")
    assert_claims("axis", dedent(wrong) + AXES)
    assert_claims("axis", dedent(program).replace("[None]", "[:, None]") + AXES)


def test_what_others_rely_on_is_not_to_be_mended():
    program = """
    def by_draw(costs):
        half = 0.5 * costs
        return half.T

    def entry(costs, prices, tolls):
        turned = by_draw(costs)
        dear = turned * prices[None]
        low = jnp.log1p(turned)
        return dear.sum() + (low - costs).sum()  # AX001
    """
    assert_claims("axis", dedent(program) + AXES)
    alone = program.replace("turned * prices[None]", "costs * tolls[None]").replace("  # AX001", "")
    assert_claims("axis", dedent(alone).replace("half.T", "half.T  # AX001") + AXES)


def test_an_index_in_a_helper_takes_the_wrong_axis():
    program = """
    def latest(costs):
        return costs[:, -1]  # AX001

    def entry(costs, prices, tolls):
        now = jnp.log1p(latest(costs))
        again = 2.0 * now
        return again @ tolls
    """
    assert_claims("axis", dedent(program) + AXES)


def test_nobody_gives_an_array_axes_that_it_does_not_need():
    program = """
    AXES = {"images": "batch row channel", "tint": "channel"}

    def inputs():
        return jnp.ones((4, 4, 4)), jnp.ones(4)

    def channels_first(images):
        return jnp.moveaxis(images, 1, 0)  # AX001

    def entry(images, tint):
        planes = channels_first(images)
        lit = planes + 0.1
        return lit * tint[:, None, None]
    """
    assert_claims("axis", dedent(program))


def test_an_argument_that_a_map_leaves_whole():
    program = """
    AXES = {"place": "env joint", "drag": "env", "push": "env joint"}

    def inputs():
        return jnp.ones((4, 4)), jnp.ones(4), jnp.ones((4, 4))

    def slowed(place, drag, push):
        force = push - drag * place
        moved = place + 0.1 * force
        return moved * push

    def entry(place, drag, push):
        return jax.vmap(slowed, in_axes=(0, None, 0))(place, drag, push)  # AX001
    """
    assert_claims("axis", dedent(program))
    right = program.replace("(0, None, 0)", "(0, 0, 0)").replace("  # AX001", "")
    assert_claims("axis", dedent(right))


def test_what_a_mapped_function_closes_over_whole():
    program = """
    AXES = {"place": "env joint", "drag": "env", "push": "env joint"}

    def inputs():
        return jnp.ones((4, 4)), jnp.ones(4), jnp.ones((4, 4))

    def slowed(place, drag, push):
        force = push - drag * place
        moved = place + 0.1 * force
        return moved * push

    def entry(place, drag, push):
        def one(place, push):
            return slowed(place, drag, push)

        return jax.vmap(one)(place, push)  # AX001
    """
    assert_claims("axis", dedent(program))


def test_a_scan_along_the_wrong_axis():
    program = """
    def entry(costs, prices, tolls):
        def turn(level, cost):
            level = 0.5 * level + cost
            return level, level.max()

        start = prices - prices.min()
        half = 0.5 * costs
        return jax.lax.scan(turn, start, half)  # AX001
    """
    assert_claims("axis", dedent(program) + AXES)


def test_a_written_table_of_which_only_the_sum_is_taken():
    program = """
    def spread(x):
        return x[..., None]

    def entry(costs, prices, tolls):
        rates = jnp.exp(tolls)
        far = jnp.abs(spread(tolls) - rates).sum() + ((tolls[:, None] * rates) ** 2).sum()
        terms = 2.0 * (spread(tolls) * rates) - spread(rates)  # AX002
        return far - terms.mean(), tolls[:, None] * rates
    """
    with jax.numpy_rank_promotion("allow"):
        assert_claims("axis", dedent(program) + AXES)


def test_who_merges_axes_the_other_way_round_than_all_others():
    program = """
    AXES = {"seen": "chain draw", "paid": "chain draw", "whole": "draw chain feat"}

    def flat(x):
        return x.reshape(-1)

    def state(whole):
        lines = whole.reshape(12, -1)  # AX001
        return jnp.tanh(lines)

    def entry(seen, paid, whole):
        gains, costs = flat(seen), flat(paid)
        worth = state(whole).sum(axis=-1)
        gap = gains - worth
        return jnp.mean(gap**2) + jnp.mean(costs * worth)

    def inputs():
        return jnp.ones((3, 4)), jnp.ones((3, 4)), jnp.ones((4, 3, 5))
    """
    assert_claims("axis", program)
    turned = program.replace("whole.reshape", "jnp.swapaxes(whole, 0, 1).reshape")
    assert_claims("axis", turned.replace("  # AX001", ""))
