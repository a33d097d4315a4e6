"""Axes through products that sum over what two operands share."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Step
from .analysis import AxisAnalysis
from .axis import Axes, Axis


def dot_general(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """What is summed over meets; what is paired meets and stays; the rest stays."""
    (left_sum, right_sum), (left_batch, right_batch) = step.params["dimension_numbers"]
    left, right = step.inputs[:2]
    made = step.outputs[0]
    for i, j in zip(left_sum, right_sum, strict=True):
        if left.shape[i] > 1:
            analysis.join(step, "contraction", (left, i), (right, j))
    axes: list[Axis] = []
    for i, j in zip(left_batch, right_batch, strict=True):
        analysis.follow(made, len(axes), left, i)
        paired = left.shape[i] > 1
        axes.append(
            analysis.join(step, "contraction", (left, i), (right, j)) if paired else operands[0][i]
        )
    for value, used, own in (
        (left, {*left_sum, *left_batch}, operands[0]),
        (right, {*right_sum, *right_batch}, operands[1]),
    ):
        for index in range(len(value.shape)):
            if index not in used:
                analysis.follow(made, len(axes), value, index)
                axes.append(own[index])
    return [tuple(axes)]


def convolution(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Batch and space stay the image's; features become the kernel's."""
    numbers = step.params["dimension_numbers"]
    image, kernel, result = numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec
    left, right, made = step.inputs[0], step.inputs[1], step.outputs[0]
    if left.shape[image[1]] == right.shape[kernel[1]] > 1:
        analysis.join(step, "contraction", (left, image[1]), (right, kernel[1]))
    axes: list[Axis] = [Axis() for _ in made.shape]
    axes[result[0]] = operands[0][image[0]]
    axes[result[1]] = operands[1][kernel[0]]
    analysis.follow(made, result[0], left, image[0])
    analysis.follow(made, result[1], right, kernel[0])
    for to, source in zip(result[2:], image[2:], strict=True):
        axes[to] = operands[0][source]
        analysis.follow(made, to, left, source)
    return [tuple(axes)]
