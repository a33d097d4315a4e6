"""One form for choices between arrays, so that rules need not know all the ways to write one.

`jnp.select([a, b], [x, y], z)` is `jnp.where(a, x, jnp.where(b, y, z))`, and a choice by the
negation of a flag is the choice by the flag with its sides exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .values import Constant, Data, External, Sequence, Value

if TYPE_CHECKING:
    from .frame import Site
    from .machine import Interpreter

_WHERE = "jax.numpy.where"
_SELECT = ("condlist", "choicelist", "default")


def in_one_form(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> tuple[str, list[Value], dict[str, Value]]:
    """The name and the arguments of a call, the same for all ways to choose."""
    if name == "jax.numpy.select" and not site.is_open:
        return _selected(machine, site, name, args, keywords)
    if name == _WHERE and len(args) == 3 and not keywords:
        flag = _negated(args[0])
        if flag is not None:
            return name, [flag, args[2], args[1]], {}
    return name, args, keywords


def _selected(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> tuple[str, list[Value], dict[str, Value]]:
    given = dict(zip(_SELECT, args, strict=False)) | keywords
    flags, choices = (_items(given.get(it)) for it in _SELECT[:2])
    if not flags or not choices or len(flags) != len(choices):
        return name, args, keywords
    last = given.get("default", Constant(0))
    for flag, choice in reversed(list(zip(flags[1:], choices[1:], strict=True))):
        last = machine.call(site, External(_WHERE), [flag, choice, last], {})
    return in_one_form(machine, site, _WHERE, [flags[0], choices[0], last], {})


def _items(value: Value | None) -> list[Value] | None:
    return value.items if isinstance(value, Sequence) else None


def _negated(flag: Value) -> Value | None:
    """What a flag is the opposite of; of numbers, `~` turns each bit."""
    node = flag.node if isinstance(flag, Data) else None
    if node is None or node.operation != "~x" or len(node.operands) != 1:
        return None
    inner = node.operands[0]
    is_flag = isinstance(inner, Data) and inner.node.dtype in (None, "bool")
    return inner if is_flag else None
