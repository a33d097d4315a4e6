"""Arrays that are looked up by the count of one of their axes."""

from textwrap import dedent

import pytest

from .claims import assert_claims

HEADER = """
AXES = {"paths": "draw step coord", "ends": "draw", "scores": "image text"}

def inputs():
    return jnp.ones((4, 4, 3)), jnp.arange(4), jnp.ones((4, 4))

def entry(paths, ends, scores):
    turned = jnp.swapaxes(paths, 0, 1)
    draws = jnp.arange(paths.shape[0])
"""


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("turned[draws, ends]", "turned[ends, draws]"),
        ("turned[draws, ends]", "paths[draws, ends]"),
        ("turned[draws, ends, 0]", "turned[ends, draws, 0]"),
        ("turned.at[draws, ends].set(0.0)", "turned.at[ends, draws].set(0.0)"),
        ("paths.at[ends, draws].add(1.0)", "paths.at[draws, ends].add(1.0)"),
        (
            "turned[draws[:, None], jnp.stack([ends, ends - 1], 1)]",
            "paths[draws[:, None], jnp.stack([ends, ends - 1], 1)]",
        ),
    ],
)
def test_steps_that_are_looked_up_by_the_count_of_draws(wrong, right):
    assert_claims("axis", f"{HEADER}    return {wrong}  # AX001\n")
    assert_claims("axis", f"{HEADER}    return {right}\n")


@pytest.mark.parametrize(
    "right",
    [
        "scores[draws, draws] + ends",  # The diagonal.
        "scores[draws, ends]",
        "paths[:, draws, 0].sum(axis=1)",
        "scores[draws + 1, ends]",
    ],
)
def test_other_counts_are_left_alone(right):
    assert_claims("axis", f"{HEADER}    return {right}\n")


def test_what_a_count_is_of_may_be_known_only_later():
    program = """
    def entry(costs, limits):
        rows = jnp.arange(4)
        picked = costs[rows, jnp.argsort(rows)]  # AX001
        return picked * limits

    AXES = {"costs": "site day", "limits": "day"}

    def inputs():
        return jnp.ones((4, 4)), jnp.ones(4)
    """
    assert_claims("axis", dedent(program))
    assert_claims("axis", dedent(program).replace("  # AX001", "").replace('"day"}', '"site"}'))
