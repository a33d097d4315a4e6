"""Arrays with the same axes in different orders, which somebody hands to one who pairs them."""

from textwrap import dedent

from .reading import found

ROLLOUT = """
AXES = {"costs": "chain draw", "prices": "chain", "tolls": "draw"}

def inputs():
    return jnp.ones((4, 4)), jnp.ones(4), jnp.ones(4)
"""

# A scan gives what it stacks with the turns first, which is nobody's choice.
STACKED = """
def gap(one, other):
    apart = one - other
    return jnp.abs(apart)

def weighed(one, other):
    return jnp.sum(gap(one, other) * other)

def smoothed(costs):
    def step(total, row):
        total = 0.9 * total + row
        return total, total

    return lax.scan(step, jnp.zeros(costs.shape[0]), costs.T)[1]

"""


def test_who_hands_two_layouts_on_is_told_and_not_who_pairs_them():
    program = """
    def entry(costs, prices, tolls):
        smooth = smoothed(costs)
        return weighed(smooth, costs)
    """
    assert found("AX001", STACKED + dedent(program) + ROLLOUT) == [18]


def test_one_layout_for_both_is_fine():
    program = """
    def entry(costs, prices, tolls):
        smooth = smoothed(costs)
        return weighed(smooth.T, costs) + jnp.sum(gap(smooth, costs.T))
    """
    assert not found("AX001", STACKED + dedent(program) + ROLLOUT)


def test_what_follows_from_a_layout_is_not_told_again():
    program = """
    def entry(costs, prices, tolls):
        smooth = smoothed(costs)
        apart = gap(smooth, costs)
        squared = smooth**2
        return (squared + apart) * costs
    """
    assert found("AX001", STACKED + dedent(program) + ROLLOUT) == [18]


def test_one_element_of_the_wrong_axis_is_told_where_it_is_taken():
    program = """
    def total(costs, prices):
        def body(t, paid):
            now = lax.dynamic_index_in_dim(costs, t, axis=0, keepdims=False)
            raised = now + 1.0
            return paid + raised * prices

        return lax.fori_loop(0, costs.shape[1], body, jnp.zeros_like(prices))

    def entry(costs, prices, tolls):
        return total(costs, prices)
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [3]
    assert not found("AX001", dedent(program).replace("axis=0", "axis=1") + ROLLOUT)


def test_what_makes_the_same_choice_beside_it_is_changed_with_it():
    program = """
    def moments(costs):
        mean = costs.mean(axis=0)
        spread = jnp.sum(costs**2, axis=0) - mean**2
        return mean, spread

    def entry(costs, prices, tolls):
        mean, spread = moments(costs)
        raised = 1.0 + spread
        return mean * prices, raised
    """
    assert found("AX001", dedent(program) + ROLLOUT) == [2]
