"""How many devices a module says there are, and what each of them gets."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...remember import walked
from ...values import Data, nodes_of

if TYPE_CHECKING:
    from ...facts import SourceFacts
    from ...project import Module

_COUNT = "device_count"
# Settings that give a process so many devices, as flags of XLA or as options of JAX.
_SETTINGS = (_COUNT, "num_cpu_devices")


def settles_devices(module: Module) -> bool:
    """Whether a module asks for a number of devices, or holds how many there are against one.

    Numbers that are written down for the axis of the devices may then be right. Who only divides
    by how many there are, as for another array, does not know a number.
    """
    if _COUNT not in module.text and _SETTINGS[1] not in module.text:
        return False
    nodes = list(walked(module.syntax))
    names = {
        target.id
        for it in nodes
        if isinstance(it, ast.Assign) and _counts(it.value, set())
        for target in it.targets
        if isinstance(target, ast.Name)
    }
    return any(
        _is_setting(it) or (isinstance(it, ast.Compare) and _counts(it, names)) for it in nodes
    )


def _counts(written: ast.AST, names: set[str]) -> bool:
    """Whether the number of devices is in some code, by its function or by a name for it."""
    return any(
        (isinstance(it, ast.Attribute) and it.attr.endswith(_COUNT))
        or (isinstance(it, ast.Name) and (it.id.endswith(_COUNT) or it.id in names))
        for it in walked(written)
    )


def _is_setting(written: ast.AST) -> bool:
    value = written.value if isinstance(written, ast.Constant) else None
    return isinstance(value, str) and any(it in value for it in _SETTINGS)


def states_of_one_device(facts: SourceFacts, mapped: list[Data]) -> Iterator[Data]:
    """What an optimiser starts with, handed to all devices beside copies of its parameters.

    It counts its steps by one number, and has for each parameter an array of its shape; what was
    made of the parameters, to have one of them for each device, was not made of it.
    """
    inits = [it for it in facts.calls_by_name if it.startswith("optax.") and it.endswith(".init")]
    for call in facts.calls(inits):
        own = {node for it in call.args[1:] for node in nodes_of(it)}
        states = set(nodes_of(call.result))
        given = {it.node.whole(): it for it in mapped}
        if any(not own.isdisjoint(it.ancestors()) for it in given.keys() - own - states):
            yield from (it for node, it in given.items() if node in states)
