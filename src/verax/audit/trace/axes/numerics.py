"""Axes through linear algebra, transforms, collectives and random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from ..program import Step
from .analysis import AxisAnalysis
from .axis import Axes, Axis


def stacked_matrices(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Factorisations: leading axes are a stack of matrices, rows and columns become unknown."""
    stack = len(operands[0]) - 2
    outs: list[Axes] = []
    for made in step.outputs:
        kept = min(stack, len(made.shape))
        for index in range(kept):
            analysis.follow(made, index, step.inputs[0], index)
        rest = tuple(Axis() for _ in range(len(made.shape) - kept))
        outs.append((*operands[0][:kept], *rest))
    return outs


def triangular_solve(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """The solution has the axes of the right-hand side."""
    for index in range(len(operands[1])):
        analysis.follow(step.outputs[0], index, step.inputs[1], index)
    return [operands[1]]


def spectrum(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """A Fourier transform: frequencies take the place of what is transformed."""
    kept = len(operands[0]) - len(step.params["fft_lengths"])
    for index in range(kept):
        analysis.follow(step.outputs[0], index, step.inputs[0], index)
    return [(*operands[0][:kept], *(Axis() for _ in step.params["fft_lengths"]))]


def all_gather(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """A new axis for the devices, or (tiled) a longer one."""
    if step.params["tiled"]:
        return [operands[0] for _ in step.outputs]
    at = step.params["all_gather_dimension"]
    axes = list(operands[0])
    axes.insert(at, Axis())
    for made in step.outputs:
        for index in range(len(operands[0])):
            analysis.follow(made, index + (index >= at), step.inputs[0], index)
    return [tuple(axes) for _ in step.outputs]


def leading(analysis: AxisAnalysis, step: Step, operands: Sequence[Axes]) -> list[Axes]:
    """Results begin with the axes of the first operand, as far as both go (keys and their bits)."""
    outs: list[Axes] = []
    for made in step.outputs:
        kept = min(len(operands[0]), len(made.shape)) if operands else 0
        for index in range(kept):
            analysis.follow(made, index, step.inputs[0], index)
        rest = tuple(Axis() for _ in range(len(made.shape) - kept))
        outs.append((*(operands[0][:kept] if operands else ()), *rest))
    return outs
