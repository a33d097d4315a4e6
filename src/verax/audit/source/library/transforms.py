"""JAX's transformations of functions: what they make, and how what they made is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..binding import positional_names
from ..calls import run
from ..captures import Given, captures
from ..events import Applied, Fact, Made
from ..frame import Region
from ..values import (
    Bound,
    Constant,
    External,
    Function,
    Instance,
    Partial,
    Sequence,
    Transformed,
    Value,
    leaves,
)
from .custom_rules import run_rules
from .derivatives import derivatives, differentiated_arguments
from .lanes import lanes_together, mapped_arguments
from .options import (
    DERIVATIVES,
)
from .registry import handles
from .shards import sharded_arguments, shards_together
from .staging import as_result, as_traced, staged_arguments

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter


# Full name -> (kind, names of positional parameters after the function, filtered as in equinox)
_TRANSFORMS: dict[str, tuple[str, str, bool]] = {
    "jax.jit": ("jit", "", False),
    "jax.vmap": ("vmap", "in_axes out_axes axis_name axis_size", False),
    "jax.pmap": ("pmap", "axis_name", False),
    "jax.shard_map": ("shard_map", "mesh in_specs out_specs", False),
    "jax.grad": ("grad", "argnums has_aux", False),
    "jax.value_and_grad": ("value_and_grad", "argnums has_aux", False),
    "jax.jacrev": ("jacrev", "argnums has_aux", False),
    "jax.jacfwd": ("jacfwd", "argnums has_aux", False),
    "jax.hessian": ("hessian", "argnums has_aux", False),
    "jax.checkpoint": ("checkpoint", "", False),
    "jax.custom_vjp": ("custom_vjp", "nondiff_argnums nondiff_argnames", False),
    "jax.custom_jvp": ("custom_jvp", "nondiff_argnums nondiff_argnames", False),
    "jax.custom_gradient": ("custom_gradient", "", False),
    "jax.eval_shape": ("eval_shape", "", False),
    "jax.make_jaxpr": ("make_jaxpr", "", False),
    "jax.linear_transpose": ("linear_transpose", "", False),
    "equinox.filter_jit": ("jit", "", True),
    "equinox.filter_pmap": ("pmap", "", True),
    "equinox.filter_vmap": ("vmap", "", True),
    "equinox.filter_grad": ("grad", "", True),
    "equinox.filter_value_and_grad": ("value_and_grad", "", True),
    "equinox.filter_checkpoint": ("checkpoint", "", True),
    "equinox.filter_custom_vjp": ("custom_vjp", "", True),
    "flax.nnx.jit": ("jit", "", True),
    "flax.nnx.vmap": ("vmap", "", True),
    "flax.nnx.grad": ("grad", "", True),
    "flax.nnx.value_and_grad": ("value_and_grad", "", True),
    "flax.nnx.remat": ("checkpoint", "", True),
    "flax.linen.jit": ("jit", "", True),
    "haiku.vmap": ("vmap", "in_axes out_axes axis_name axis_size", False),
    "haiku.grad": ("grad", "argnums has_aux", True),
    "haiku.value_and_grad": ("value_and_grad", "argnums has_aux", True),
    "chex.chexify": ("named", "", False),
}


@handles(*_TRANSFORMS)
def _transform(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind, names, is_filtered = _TRANSFORMS[name]
    keywords = dict(keywords)
    function = args[0] if args else keywords.pop("fun", keywords.pop("f", None))
    options = dict(zip(names.split(), args[1:], strict=False)) | keywords
    if function is None:
        # `@partial`-like use: `@jax.jit(static_argnums=0)`.
        return Partial(External(name), [], options)
    if kind == "eval_shape" and (len(args) > 1 or keywords):
        transformed = Transformed(kind, function, {}, site.syntax, site.frame)
        return apply(machine, site, transformed, args[1:], keywords)
    made = Transformed(kind, function, options, site.syntax, site.frame, is_filtered)
    region = site.frame.region
    in_loop = region is not None and region.kind == "loop"
    machine.note(Made(site.syntax, site.frame, made, in_loop))
    return made


@handles("jax.vjp", "jax.jvp", "jax.linearize", "equinox.filter_vjp", "equinox.filter_jvp")
def _direct(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    kind = name.rpartition(".")[2].removeprefix("filter_")
    if not args:
        return machine.opaque(name, site, ())
    is_filtered = name.startswith("equinox")
    primals = args[1:]
    tangents: list[Value] = []
    if kind == "jvp":
        given = args[1] if len(args) > 1 else keywords.get("primals")
        also = args[2] if len(args) > 2 else keywords.get("tangents")
        primals = list(given.items or ()) if isinstance(given, Sequence) else []
        tangents = [also] if also is not None else []
    transformed = Transformed(kind, args[0], keywords, site.syntax, site.frame, is_filtered)
    machine.note(Made(site.syntax, site.frame, transformed))
    value = apply(machine, site, transformed, primals, {})
    second = machine.opaque(name, site, (value, *tangents), type=f"jax.{kind}")
    if kind == "jvp":
        second.type = ""  # It is no function, but the tangent of the value.
        second.traced = True if all(leaf.traced for leaf in leaves(value)) else None
    if _is_true(keywords.get("has_aux")) and isinstance(value, Sequence) and value.items:
        return machine.tuple_of(value.items[0], second, *value.items[1:])
    return machine.tuple_of(value, second)


def _is_true(value: Value | None) -> bool:
    return isinstance(value, Constant) and value.value is True


def apply(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
) -> Value:
    """Call a transformed function: change the arguments at the boundary, run, change back."""
    kind = transformed.kind
    region = Region(
        kind,
        site.frame.region,
        site.frame.place(transformed.syntax),
        axis_name=_axis_name(transformed),
        transformed=transformed,
    )
    entered, entered_keywords = _entered(machine, site, transformed, args, keywords, region)
    if kind == "jit" and not site.frame.is_staged:
        _note_captures(machine, site, transformed, (args, keywords), entered)
    # What is only asked for its shapes draws nothing.
    before = dict(machine.used) if kind in ("eval_shape", "make_jaxpr") else None
    result, inner = _run_inside(machine, site, transformed, entered, entered_keywords, region)
    if before is not None:
        machine.used = before
    if kind in ("custom_vjp", "custom_jvp"):
        run_rules(machine, site, transformed, args, keywords, result, region)
    outside = _left(machine, site, transformed, args, result, region)
    machine.note(
        Applied(
            site.syntax, site.frame, transformed, args, keywords, inner, result, outside, region
        )
    )
    return outside


def _note_captures(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    given: Given,
    entered: list[Value],
) -> None:
    """Note what a jitted function reads from outside at this call."""
    owner, args = _owner(transformed.function), given[0]
    if owner is None and args and isinstance(args[0], Instance) and args[0] is entered[0]:
        owner = args[0]
    found = captures(machine, transformed, owner, given)
    if found:
        data = {"transformed": transformed, "captures": found, "owner": owner}
        machine.note(Fact(site.syntax, site.frame, "captured", data))


def _owner(function: Value) -> Value | None:
    """The object whose method a function is, or that `partial` has given it as its first argument.

    That may be under other transformations: `jit(vmap(self.step))`, `jit(partial(self.step, k=3))`.
    """
    while isinstance(function, (Transformed, Partial)):
        first = function.args[0] if isinstance(function, Partial) and function.args else None
        if isinstance(first, Instance) and isinstance(function.function, Function):
            return first
        function = function.function
    return function.owner if isinstance(function, Bound) else None


def _axis_name(transformed: Transformed) -> object:
    value = transformed.options.get("axis_name")
    return value.value if isinstance(value, Constant) else None


def _run_inside(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[Value, dict[str, Value]]:
    function, args = unwrapped(transformed.function, args)
    inner_site = site.inside(region)
    if isinstance(function, Function):
        names = positional_names(function)
        placed = len(args) - inner_site.trailing
        inner = dict(zip(names, args[:placed], strict=False)) | keywords
        return run(machine, inner_site, function, args, keywords, region), inner
    return machine.call(inner_site, function, args, keywords), {}


def unwrapped(function: Value, args: list[Value]) -> tuple[Value, list[Value]]:
    """A function without the method or partial around it, with the arguments that these add."""
    while True:
        if isinstance(function, Bound) and not isinstance(function.function, External):
            function, args = function.function, [function.owner, *args]
        elif isinstance(function, Partial) and not function.keywords:
            function, args = function.function, [*function.args, *args]
        else:
            return function, args


def _entered(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    keywords: dict[str, Value],
    region: Region,
) -> tuple[list[Value], dict[str, Value]]:
    kind = transformed.kind
    if kind in ("jit", "checkpoint", "eval_shape", "make_jaxpr"):
        return staged_arguments(transformed, args, keywords)
    if kind == "shard_map":
        return sharded_arguments(site, transformed, args, keywords, region)
    if kind in ("vmap", "pmap"):
        return mapped_arguments(site, transformed, args, keywords, region)
    if kind in DERIVATIVES or kind in ("vjp", "jvp", "linearize"):
        return differentiated_arguments(site, transformed, args, region), keywords
    return args, keywords


def _left(
    machine: Interpreter,
    site: Site,
    transformed: Transformed,
    args: list[Value],
    result: Value,
    region: Region,
) -> Value:
    kind = transformed.kind
    if kind == "shard_map":
        return shards_together(result, region, site, transformed)
    if kind in ("jit", "checkpoint", "eval_shape", "make_jaxpr"):
        if kind == "make_jaxpr":
            return machine.opaque(kind, site, (result,), traced=False)
        return as_result(result, site)
    if kind in ("vmap", "pmap"):
        arrays = as_result(as_traced(result, transformed.is_filtered), site)
        return lanes_together(arrays, region, site, transformed)
    if kind in DERIVATIVES:
        return derivatives(machine, site, transformed, args, result)
    if kind in ("custom_vjp", "custom_jvp"):
        return as_result(result, site)
    if kind == "custom_gradient" and isinstance(result, Sequence) and result.items:
        return result.items[0]  # The other one is how to differentiate it.
    return result
