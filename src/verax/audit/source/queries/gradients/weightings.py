"""Products in a loss one factor of which another term trains, such as an advantage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ....predictions import fitted_elsewhere
from ...graph import Node
from ...values import Data
from .flows import Flow
from .loss_terms import Error, Term, errors, multiplied, stopped, terms


@dataclass(frozen=True, eq=False)
class Weighting:
    """A product whose one factor is trained by another term of the loss.

    `handed` is the factor as the function that multiplies got it.
    """

    product: Node
    factor: Node
    error: Error
    handed: Node


def weightings(flow: Flow) -> Iterator[Weighting]:
    """Products in a loss that pull at a prediction which another term fits to data."""
    fitted: list[tuple[Error, Node, list[Node]]] = []
    for error in errors(flow):
        parts = [it.node for it in terms(flow, error.parts)]
        # The square of a prediction alone fits it to nothing; what is stopped stands for data.
        if not all(map(flow.gets, parts)):
            fitted.append((error, error.node, [it for it in parts if flow.gets(it)]))
    results = [Term(node, 1) for node in flow.results]
    in_terms = {it.node for it in terms(flow, results, into_stacks=True)}
    yield from _multipliers(flow, in_terms)
    for node in flow.order if fitted else ():
        factors = _factors(node)
        if factors is None or node not in in_terms or node not in flow.trained_through:
            continue
        for factor, rest in (factors, factors[::-1]):
            error = fitted_elsewhere(flow, node, factor, rest, fitted) if flow.gets(rest) else None
            if error is not None:
                yield Weighting(node, factor, error, _handed(flow, node, factor))
                break


def _multipliers(flow: Flow, in_terms: set[Node]) -> Iterator[Weighting]:
    """Products of a trained number and what another term has times that number, stopped.

    With a temperature, or a multiplier of Lagrange's, one term trains the policy, for which the
    number is a constant, and one the number, for which the policy is.
    """
    weighed = list(_stopped_weights(flow))
    for node in flow.order if weighed else ():
        factors = _factors(node)
        if factors is None or node not in in_terms or node not in flow.trained_through:
            continue
        for number, factor in (factors, factors[::-1]):
            bits = 0 if number in flow.data else flow.gets(number)
            if not bits or not flow.gets(factor) & ~bits or factor not in flow.data:
                continue
            made_from = {flow.same.number(it) for it in flow.slice([factor])}
            for product, weight, rest in weighed:
                if flow.uses(weight) & bits and flow.same.number(rest) in made_from:
                    yield Weighting(node, factor, Error([], product, product), factor)
                    break


def _stopped_weights(flow: Flow) -> Iterator[tuple[Node, Node, Node]]:
    """Products with a stopped number that the parameters make alone: whole, number and the rest."""
    for node in flow.order:
        factors = _factors(node) if node in flow.trained_through else None
        for weight, rest in (factors, factors[::-1]) if factors is not None else ():
            inner = stopped(weight)
            if (
                inner is not None
                and flow.gets(inner)
                and inner not in flow.data
                and flow.gets(rest)
            ):
                yield node, inner, rest


def _handed(flow: Flow, product: Node, factor: Node) -> Node:
    """The factor as the function that multiplies was given it, if it only made it ready."""
    given = product.frame.given.values() if product.frame is not None else ()
    behind = flow.slice([factor])
    handed = [it.node for it in given if isinstance(it, Data) and it.node in behind]
    handed = [it for it in handed if flow.gets(it) and it not in flow.primals]
    return handed[0] if len(handed) == 1 else factor


def _factors(node: Node) -> tuple[Node, Node] | None:
    factors = multiplied(node)
    return factors if factors is not None and factors[0] is not factors[1] else None
