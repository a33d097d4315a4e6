"""What is verified of named axes, held against programs that run."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from hypothesis import event, given, settings

from verax.audit.rules.axis.axes_mixed import RULE
from verax.audit.run import audit_callable

from .named_axes import HEADER, INPUTS, SIZES, axes_meet, axis_programs

AXES = {name: " ".join(it or "_" for it in axes) for name, axes in INPUTS.items()}
ARGS = tuple(
    jax.ShapeDtypeStruct(tuple(SIZES.get(it, 2) for it in axes), jnp.float32)
    for axes in INPUTS.values()
)


def verified(program: str) -> list[str]:
    """The claims about the axes of a program."""
    names: dict[str, Any] = {}
    exec(HEADER + program, names)
    report = audit_callable(names["entry"], ARGS, {}, axes=AXES, rules=(RULE,), strict=True)
    return [it.claim for it in report.verified]


@settings(max_examples=settings().max_examples // 2)
@given(axis_programs())
def test_no_names_meet_where_that_is_verified(program: str) -> None:
    if verified(program):
        event("verified")
        assert not axes_meet(program), program
    else:
        event("names meet" if axes_meet(program) else "apart, and not verified")


PIXELS = """
def entry(x, y, z, image, w, b):
    return image.reshape(4, 4, 2) * (1 + x[{at}])
"""
ORDER = """
def entry(x, y, z, image, w, b):
    one = jnp.sum(image, axis=3)
    return one.reshape(4, 4) + jnp.transpose(one, {order}).reshape(4, 4)
"""
SUMMED = """
def entry(x, y, z, image, w, b):
    one = jnp.sum(image, axis=3)
    total = jnp.cumsum(one.reshape(4, 4), axis={axis}).reshape(4, 2, 2)
    return total + jnp.sum(one, axis=2)[:, :, None]
"""


@pytest.mark.parametrize(
    ("program", "meets"),
    [
        (PIXELS.format(at="None, :"), True),  # the pixels of a picture, and those of a batch
        (PIXELS.format(at=":, None"), False),
        (ORDER.format(order="(0, 2, 1)"), True),
        (ORDER.format(order="(0, 1, 2)"), False),
        (SUMMED.format(axis=1), True),  # from one row of a picture to the next
        (SUMMED.format(axis=0), False),
    ],
)
def test_products_are_paired_factor_by_factor(program: str, meets: bool) -> None:
    assert axes_meet(program) == meets
    names = "batch, feat, height, time, width"
    assert verified(program) == ([] if meets else [f"axes {names} never meet each other"])


def shifted(x: Any) -> Any:
    return jax.lax.pad(x.reshape(-1), 0.0, [(1, -1, 0)]).reshape(x.shape)


def gathered(x: Any) -> Any:
    return jax.vmap(lambda row: jax.lax.all_gather(row[0], "lanes"), axis_name="lanes")(x)


@pytest.mark.parametrize("function", [shifted, gathered])
def test_a_dimension_along_which_another_axis_varies_too(function: Any) -> None:
    """What varies along `one` alone varies along the dimension that `other` is added to."""
    by_one = jnp.arange(3.0)[:, None] * jnp.ones((3, 3))
    assert jnp.any(jnp.diff(function(by_one), axis=1) != 0)
    report = audit_callable(
        lambda x, y: function(x) + y[None],
        (by_one, jnp.ones(3)),
        {},
        axes={"x": "one other", "y": "other"},
        rules=(RULE,),
        strict=True,
    )
    assert not report.verified
