"""Modules of flax's linen: what `apply` runs, and which parameters a layer takes there.

The parameters that `apply` is given are a tree with a part for each layer. Which part that is the
interpreter need not know: a layer is told from another one by where it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..classes import base_names
from ..numbering import number_of
from ..shaping import shape_from
from ..values import Bound, Constant, Data, Instance, Mapping, Value
from .keys import consumed_outside
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Frame, Site
    from ..machine import Interpreter

_MODULE = "flax.linen.Module"
_OF_APPLY = frozenset(("rngs", "mutable", "method", "capture_intermediates"))


def is_module(value: Value | None) -> bool:
    """Whether something is an object of a class that derives from linen's module."""
    return isinstance(value, Instance) and _MODULE in base_names(value.cls)


@handles(f"{_MODULE}.apply")
def _apply(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`model.apply(variables, x)` runs the module's `__call__`."""
    owner = args[0] if args else None
    method = owner.cls.find("__call__") if isinstance(owner, Instance) else None
    if not isinstance(owner, Instance) or method is None or "method" in keywords or len(args) < 2:
        return machine.opaque("call", site, (*args, *keywords.values()))
    # Other keys are arguments of the method, which is followed.
    consumed_outside(machine, site, "apply", [], {"rngs": keywords.get("rngs", Constant(None))})
    rest = {key: it for key, it in keywords.items() if key not in _OF_APPLY}
    outer, machine.variables = machine.variables, (args[1], site.frame)
    result = machine.call(site, Bound(method, set_up(machine, site, owner)), args[2:], rest)
    machine.variables = outer
    mutable = keywords.get("mutable", Constant(False))
    if isinstance(mutable, Constant) and mutable.value is False:
        return result
    return machine.tuple_of(result, machine.opaque("variables", site, args[1:]))


@handles("flax.training.train_state.TrainState.create")
def _train_state(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    apply = keywords.get("apply_fn")
    if isinstance(apply, Bound) and isinstance(apply.owner, Instance):
        machine.record.apply_functions.setdefault(apply.owner.cls, apply)
    consumed_outside(machine, site, name, args, keywords)
    return machine.opaque("call", site, (*args, *keywords.values()), type=name)


def apply_function(machine: Interpreter) -> Value | None:
    """What the `apply_fn` of a state is that somebody passes: that of the program's only model."""
    known = list(machine.record.apply_functions.values())
    return known[0] if len(known) == 1 else None


def set_up(machine: Interpreter, site: Site, module: Instance) -> Instance:
    """A module with the submodules that its `setup` makes.

    A copy: to its caller a module looks as if nothing were ever assigned to it.
    """
    method = module.cls.find("setup")
    if method is None or not is_module(module):
        return module
    copy = Instance(module.cls, module.node, site.frame, module.traced)
    copy.attributes = dict(module.attributes)
    machine.call(site, Bound(method, copy), [], {})
    return copy


@handles(f"{_MODULE}.param", "haiku.get_parameter")
def _param(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`self.param("scale", init, shape)`, and `hk.get_parameter("scale", shape)`."""
    result = machine.array(name, site, _parameters(machine, site, site.frame, "param"))
    at = 1 if name.startswith("haiku.") else 3
    if len(args) > at:
        result.node.shape = shape_from(args[at])
    return result


def own_parameters(machine: Interpreter, site: Site, layer: Data) -> list[Value]:
    """The part of the parameters that a layer of linen or haiku takes, where it is applied."""
    made_in = layer.node.frame
    if not layer.type.startswith(("flax.linen.", "haiku.")) or made_in is None:
        return []
    return _parameters(machine, site, made_in, layer.type.rpartition(".")[2], layer)


def _parameters(
    machine: Interpreter, site: Site, made_in: Frame, label: str, layer: Data | None = None
) -> list[Value]:
    if machine.variables is None:
        return []
    variables, applied_in = machine.variables
    if isinstance(variables, Mapping):
        variables = variables.items.get("params", variables)
    if not isinstance(variables, Data):
        return [variables]
    syntax = site.syntax if layer is None or layer.node.syntax is None else layer.node.syntax
    # Where it is made: by which calls from where the module is applied.
    way: list[str] = [number_of(syntax)]
    frame: Frame | None = made_in
    while frame is not None and frame.caller is not applied_in:
        way.append(number_of(frame.called_at))
        frame = frame.caller
    part = variables.node.child("field", tuple(way), syntax, site.frame)
    part.label = label
    return [Data(part, variables.traced)]
