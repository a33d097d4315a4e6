"""Functions that haiku makes pure: `hk.transform(f).apply(params, rng, *args)` runs `f(*args)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classes import construct
from ..values import External, Partial, Sequence, Value
from .keys import consumed_outside
from .records import record_class
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

# How many arguments of `apply` come before those of the function.
_PLAIN, _WITHOUT_KEY, _WITH_STATE = "params_and_key", "params", "params_state_and_key"
_BEFORE = {_PLAIN: 2, _WITHOUT_KEY: 1, _WITH_STATE: 3}


@handles("haiku.transform", "haiku.transform_with_state")
def _transform(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    function = args[0] if args else keywords.get("f")
    if function is None:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    kind = _WITH_STATE if name.endswith("state") else _PLAIN
    return _pair(machine, site, function, kind)


@handles("haiku.without_apply_rng")
def _without_apply_rng(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    apply = args[0].items[1] if args and isinstance(args[0], Sequence) and args[0].items else None
    if not isinstance(apply, Partial) or not apply.args:
        return machine.opaque("call", site, (*args, *keywords.values()), type=name)
    return _pair(machine, site, apply.args[0], _WITHOUT_KEY)


def _pair(machine: Interpreter, site: Site, function: Value, kind: str) -> Value:
    cls = record_class(site, "Transformed", ["init", "apply"], "typing.NamedTuple")
    init = Partial(External("haiku.Transformed.init"), [function], {})
    apply = Partial(External(f"haiku.Transformed.{kind}"), [function], {})
    return construct(machine, site, cls, [init, apply], {})


@handles("haiku.Transformed.init")
def _init(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The parameters: all that is known of them is what they are made from."""
    consumed_outside(machine, site, name, args[1:], keywords)
    return machine.opaque("call", site, (*args[1:], *keywords.values()), type=name)


@handles(*(f"haiku.Transformed.{kind}" for kind in _BEFORE))
def _apply(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind = name.rpartition(".")[2]
    own = {it: value for it, value in keywords.items() if it in ("params", "rng", "state")}
    rest = {it: value for it, value in keywords.items() if it not in own}
    before = 1 + _BEFORE[kind] - len(own)
    if kind != _WITHOUT_KEY and "rng" not in own:
        given = args[1:before]  # the key is the last of them
        consumed_outside(machine, site, "haiku.Transformed.apply", [*given[:1], *given[-1:]], {})
    # Layers take their parameters from these, so that gradients reach them.
    variables = own.get("params", args[1] if len(args) > 1 else None)
    outer = machine.variables
    machine.variables = (variables, site.frame) if variables is not None else None
    result = machine.call(site, args[0], args[before:], rest)
    machine.variables = outer
    if kind != _WITH_STATE:
        return result
    state = machine.opaque("haiku.state", site, args[1:])
    return Sequence("tuple", [result, state], None, site.frame)
