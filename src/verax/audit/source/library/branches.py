"""JAX's conditions: `cond` and `switch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..events import Fact
from ..graph import Node
from ..joining import join
from ..values import (
    Bound,
    Data,
    External,
    Function,
    Partial,
    Sequence,
    Transformed,
    Value,
    mapped,
)
from .arguments import argument
from .registry import handles
from .staging import as_result, as_traced

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


@handles("jax.lax.cond")
def _cond(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    predicate = argument(args, keywords, 0, "pred")
    if len(args) == 5 and not keywords and _has_operand_before_each(args):
        branches, operands = [args[2], args[4]], [[args[1]], [args[3]]]
    else:
        true = argument(args, keywords, 1, "true_fun")
        false = argument(args, keywords, 2, "false_fun")
        if true is None or false is None or predicate is None:
            return machine.opaque(name, site, (*args, *keywords.values()))
        rest = _operands(args[3:], keywords)
        branches, operands = [true, false], [rest, rest]
    return _branches(machine, site, "cond", predicate, branches, operands)


def _has_operand_before_each(args: list[Value]) -> bool:
    """Whether `cond` is called in its older form: an operand, its branch, and again."""
    if _is_function(args[1]) or isinstance(args[1], External):
        return False
    # A function that is imported may be any value, if it is not known to be one.
    branches = (args[2], args[4])
    return any(map(_is_function, branches)) and all(
        _is_function(it) or isinstance(it, External) for it in branches
    )


def _is_function(value: Value) -> bool:
    return isinstance(value, (Function, Bound, Partial, Transformed))


def _operands(given: list[Value], keywords: dict[str, Value]) -> list[Value]:
    """What each branch is given: one operand may be named."""
    return given + ([keywords["operand"]] if "operand" in keywords else [])


@handles("jax.lax.switch")
def _switch(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    index = argument(args, keywords, 0, "index")
    branches = argument(args, keywords, 1, "branches")
    if index is None or not isinstance(branches, Sequence) or branches.items is None:
        return machine.opaque(name, site, (*args, *keywords.values()))
    rest = _operands(args[2:], keywords)
    return _branches(machine, site, "switch", index, branches.items, [rest] * len(branches.items))


def _branches(
    machine: Interpreter,
    site: Site,
    kind: str,
    predicate: Value | None,
    branches: list[Value],
    operands: list[list[Value]],
) -> Value:
    region = site.region(kind)
    inside = site.inside(region)
    used = machine.used
    all_used = dict(used)
    machine.control += 1
    results: list[Value] = []
    for branch, given in zip(branches, operands, strict=True):
        machine.used = dict(used)
        results.append(machine.call(inside, branch, [as_traced(it) for it in given], {}))
        all_used |= machine.used
    machine.control -= 1
    machine.used = all_used
    data: dict[str, Any] = {
        "predicate": predicate,
        "branches": branches,
        "results": results,
        "region": region,
        # How many arguments each branch gets.
        "operands": operands,
        "given": None if site.is_open else [len(it) for it in operands],
    }
    machine.note(Fact(site.syntax, site.frame, kind, data))
    if not results:
        return machine.opaque(kind, site, ())
    joined = results[0]
    for result in results[1:]:
        joined = join(joined, result)
    data["chosen"] = chosen = as_result(_chosen(joined, predicate, site), site)
    return chosen


def _chosen(value: Value, predicate: Value | None, site: Site) -> Value:
    """A result that also depends on what chose it."""
    if not isinstance(predicate, Data):
        return value
    chooser = predicate.node

    def change(leaf: Data) -> Data:
        inputs = (chooser, leaf.node)
        node = Node("cond", inputs, site.syntax, site.frame, leaf.node.varies | chooser.varies)
        node.shape, node.dtype = leaf.node.shape, leaf.node.dtype
        node.is_key = leaf.node.is_key
        return Data(node, True, leaf.is_array)

    return mapped(value, change)
