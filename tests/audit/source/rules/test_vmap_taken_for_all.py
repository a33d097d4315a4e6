"""One element of a mapped axis that is taken for all of them, and all that are taken for one."""

import pytest

from .reading import found


@pytest.mark.parametrize(
    "number",
    [
        "1.0 / x.shape[0]",
        "-len(x)",
        "math.sqrt(x.shape[1])",
        "max(1, x.shape[1])",
        "(1.0 if x.shape[0] > 3 else 2.0)",
        "x.size",
    ],
)
def test_a_number_leaves_the_axes_as_they_are(number: str):
    program = f"""
    import math
    from jaxtyping import Array, Float

    def whiten(mean, row):
        return row - mean

    def apply(mean: Float[Array, "feat"], x: Float[Array, "batch feat"]):
        return jax.vmap(whiten)(mean * ({number}), x)
    """
    assert found("VM001", program) == [8]
    assert found("VM001", program.replace("(whiten)", "(whiten, in_axes=(None, 0))")) == []
    # What an unknown factor has for axes, nobody knows.
    assert found("VM001", program.replace(f"({number})", "unknown(x)")) == []
