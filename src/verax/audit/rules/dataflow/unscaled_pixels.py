"""Pixels from 0 to 255 that go into a layer as they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Severity
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Products of converted uint8 images with weights, with no scaling in between."""
    from ...trace.phrases import phrase

    for step in facts.steps:
        if step.primitive not in ("dot_general", "conv_general_dilated"):
            continue
        for value, other in (step.inputs, step.inputs[::-1]):
            image = _pixels(value)
            if image is None or other.is_constant or not _is_unscaled(facts, value):
                continue
            yield RULE.finding(
                facts.place(step),
                current=f"{phrase(facts, image)} holds pixels from 0 to 255, and is multiplied by "
                f"{phrase(facts, other)} without being scaled",
                expected="inputs of a layer are of the order of one",
                fix="divide by 255 when converting to `jnp.float32`",
            )


def _pixels(value: Value) -> Value | None:
    """The image that was converted to this and at most rearranged."""
    from ...trace.ranges.identity import unarranged

    for _ in range(12):
        step: Step | None = value.producer
        if step is None or step.kind != "operation":
            return None
        before = step.inputs[0] if step.inputs else None
        if before is None or step.primitive not in _REARRANGE:
            return None
        if step.primitive == "convert_element_type" and str(before.dtype) == "uint8":
            image = unarranged(before)
            return image if len(image.shape) >= 2 and math.prod(image.shape) >= 64 else None
        value = before
    return None


def _is_unscaled(facts: Facts, value: Value) -> bool:
    interval = facts.ranges[value]
    return (interval.low, interval.high) == (0, 255) and str(value.dtype).startswith(
        ("float", "bfloat")
    )


_REARRANGE = {
    "convert_element_type",
    "reshape",
    "transpose",
    "squeeze",
    "broadcast_in_dim",
    "slice",
}

RULE = Rule(
    code="DF205",
    name="unscaled-pixels",
    title="Pixels enter a layer unscaled",
    family="dataflow",
    severity=Severity.CRITICAL,
    confidence=Confidence.LIKELY,
    warns=True,
    explanation="""\
An image of uint8 that is converted to float holds numbers from 0 to 255. A layer whose weights were
initialised for inputs of the order of one saturates or diverges; if it was trained on scaled
images, its results are wrong.

A warning only: the weights may have been made for unscaled pixels.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(weights, frame):
    return jax.nn.relu(frame.astype(jnp.float32).reshape(-1) @ weights)


def inputs():
    return jnp.ones((64, 4)), jnp.zeros((8, 8), jnp.uint8)
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(weights, frame):
    return jax.nn.relu(frame.astype(jnp.float32).reshape(-1) / 255.0 @ weights)


def inputs():
    return jnp.ones((64, 4)), jnp.zeros((8, 8), jnp.uint8)
""",
    trace=check,
)
