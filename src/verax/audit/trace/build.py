"""From a jaxpr to a `Program`: one table from primitive to how it holds its bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jax.extend.core import Jaxpr, JaxprEqn, Literal, primitives

from ..._jax import (
    ScanParts,
    closed,
    composite_p,
    custom_vmap_p,
    expanded,
    inner_jaxprs,
    is_made_by_pmap,
    is_unnamed_axis,
    operation_p,
    raw_frames,
    remat_p,
    shard_map_p,
    source_of,
)
from ..finding import Place
from .places import UserCode, is_jax
from .program import (
    Body,
    Derivation,
    Loop,
    Mapping,
    Program,
    Sharding,
    Step,
    Value,
)
from .regions import Mark, derivative_p, mark_p, region_p

Environment = dict[Any, Value]


class Builder:
    """Builds one program; knows which code is the user's and what was declared so far."""

    def __init__(self, user_code: UserCode):
        self.user_code = user_code
        self.marked: list[tuple[str, str, Value]] = []
        # The step of each region, for the derivatives that are applied later.
        self.regions: dict[Any, Step] = {}

    def program(self, jaxpr: Any, names: Sequence[str] = ()) -> Program:
        """The program of a closed jaxpr; `names` are those of its flat inputs."""
        open_jaxpr, consts = closed(jaxpr)
        inputs = [Value(var.aval) for var in open_jaxpr.invars]
        for value, name in zip(inputs, names, strict=False):
            value.name = name
        body = self.body(open_jaxpr, consts, inputs, None)
        return Program(body, self.marked)

    def body(
        self, jaxpr: Jaxpr, consts: Sequence[Any], inputs: Sequence[Value], owner: Step | None
    ) -> Body:
        """The body of a step on the given input values."""
        name, file, line = source_of(jaxpr)
        body = Body(list(inputs), [], [], owner)
        self.name_body(body, name, file, line)
        env: Environment = dict(zip(jaxpr.invars, inputs, strict=True))
        for var, const in zip(jaxpr.constvars, consts, strict=True):
            env[var] = Value(var.aval, constant=const)
            body.captured.append(env[var])
        outermost = (file, line) if file else None
        for eqn in jaxpr.eqns:
            self.step(eqn, env, body, outermost)
        body.outputs = [read(env, var) for var in jaxpr.outvars]
        return body

    def name_body(self, body: Body, name: str, file: str, line: int) -> None:
        """Say which function a body is, and where it is defined if that is the user's code."""
        body.function = name
        owned = bool(file) and self.user_code.owns(file)
        body.place = Place(file, line, 1, name) if owned else None

    def step(
        self, eqn: JaxprEqn, env: Environment, body: Body, outermost: tuple[str, int] | None
    ) -> None:
        """Append the step of an equation to a body."""
        inputs = [read(env, var) for var in eqn.invars]
        raw = raw_frames(eqn)
        frames = self.user_code.frames(raw, outermost)
        if not frames and body.owner is not None:
            # A library's own steps belong to the line that called it.
            frames = body.owner.frames
        if eqn.primitive is mark_p:
            self.mark(eqn.params["mark"], inputs[0], body, frames)
            env[eqn.outvars[0]] = inputs[0]
            return
        if hands_on(eqn):
            env.update(zip(eqn.outvars, inputs, strict=True))
            return
        step = Step(
            primitive=eqn.primitive.name,
            params=eqn.params,
            inputs=inputs,
            outputs=[],
            place=frames[0] if frames else None,
            frames=frames,
            within=body,
            call_site=next(((c, at) for c, at in raw if not is_jax(c.co_filename)), None),
            stack=eqn.source_info.traceback,
        )
        body.steps.append(step)
        for value in dict.fromkeys(inputs):
            value.consumers.append(step)
        step.outputs = KINDS.get(eqn.primitive, _operation)(self, step, eqn)
        for var, value in zip(eqn.outvars, step.outputs, strict=True):
            env[var] = value

    def mark(self, mark: Mark, value: Value, body: Body, frames: tuple[Place, ...]) -> None:
        """Take note of a name or a declaration."""
        if mark.role == "axes":
            place = frames[0] if frames else None
            step = Step("axes", {}, [value], [], place, frames, body, kind="declare")
            step.detail = mark.axes
            body.steps.append(step)
        elif mark.role in ("given", "handed on"):
            self.marked.append((mark.role, mark.path, value))
        elif mark.role in ("carry", "slice") and not value.name:
            value.name = f"{mark.role}{mark.path}"


# What they say is for the compiler, or for a policy of what to keep in memory.
_INERT = frozenset(("name", "optimization_barrier", "sharding_constraint", "copy", "device_put"))


def hands_on(eqn: JaxprEqn) -> bool:
    """Whether an equation gives just the values that it takes, which are the same ones then."""
    if eqn.primitive.name not in _INERT or len(eqn.invars) != len(eqn.outvars):
        return False
    return all(a.aval == b.aval for a, b in zip(eqn.invars, eqn.outvars, strict=True))


def read(env: Environment, var: Any) -> Value:
    """The value of a variable; a literal is a value of its own."""
    if isinstance(var, Literal):
        return Value(var.aval, constant=var.val)
    return env[var]


def made(step: Step, variables: Sequence[Any]) -> list[Value]:
    """New values for what a step makes."""
    return [Value(var.aval, producer=step) for var in variables]


def _operation(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    inner = list(inner_jaxprs(eqn))
    if inner:
        # Such as the combining function of `reduce`: not a part of the data flow that we follow.
        step.kind = "opaque"
    return made(step, eqn.outvars)


def _call(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    jaxpr, consts = closed(next(inner_jaxprs(eqn)))
    return _called(builder, step, jaxpr, consts)


def _called(builder: Builder, step: Step, jaxpr: Jaxpr, consts: Sequence[Any]) -> list[Value]:
    step.kind = "call"
    body = builder.body(jaxpr, consts, step.inputs, step)
    step.bodies = [body]
    return list(body.outputs)


def _expanded(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    return _called(builder, step, *expanded(eqn))


def _scan(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    parts = ScanParts(eqn, step.inputs)
    n_consts, n_carry = len(parts.consts), len(parts.init)
    inner = made(step, parts.body.invars[n_consts:])
    names = parts.body.debug_info.arg_names or ()
    if len(names) == n_consts + len(inner):
        for value, name in zip(inner, names[n_consts:], strict=True):
            value.name = name or ""  # What the body's parameters call it.
    body = builder.body(parts.body, parts.body_consts, [*parts.consts, *inner], step)
    outs = made(step, eqn.outvars)
    step.kind, step.bodies = "scan", [body]
    step.detail = Loop(
        initial=parts.init,
        carry=inner[:n_carry],
        carried=body.outputs[:n_carry],
        final=outs[:n_carry],
        closed_over=parts.consts,
        scanned=parts.xs,
        slices=inner[n_carry:],
        stacks=body.outputs[n_carry:],
        stacked=outs[n_carry:],
        length=parts.length,
        reverse=parts.reverse,
        unroll=parts.unroll,
    )
    return outs


def _while(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    params = eqn.params
    n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
    of_cond, of_body = step.inputs[:n_cond], step.inputs[n_cond : n_cond + n_body]
    initial = step.inputs[n_cond + n_body :]
    body_jaxpr, body_consts = closed(params["body_jaxpr"])
    carry = made(step, body_jaxpr.invars[n_body:])
    condition = builder.body(*closed(params["cond_jaxpr"]), [*of_cond, *carry], step)
    body = builder.body(body_jaxpr, body_consts, [*of_body, *carry], step)
    outs = made(step, eqn.outvars)
    step.kind, step.bodies = "while", [condition, body]
    step.detail = Loop(
        initial=initial,
        carry=carry,
        carried=body.outputs,
        final=outs,
        closed_over=[*of_cond, *of_body],
        condition=condition.outputs[0],
    )
    return outs


def _cond(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    step.kind = "cond"
    operands = step.inputs[1:]
    step.bodies = [
        builder.body(*closed(branch), operands, step) for branch in eqn.params["branches"]
    ]
    return made(step, eqn.outvars)


def _region(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    builder.regions[eqn.params["region"]] = step
    if eqn.params["region"].kind == "vmap":
        return _map(builder, step, eqn)
    return _derive(builder, step, eqn)


def _map(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    region = eqn.params["region"]
    jaxpr, consts = closed(eqn.params["jaxpr"])
    n = region.num_closed_over
    axes = (*(None,) * n, *region.in_axes)
    inner = [
        outer if axis is None else Value(var.aval, producer=step, name=outer.name)
        for outer, var, axis in zip(step.inputs, jaxpr.invars, axes, strict=True)
    ]
    body = builder.body(jaxpr, consts, inner, step)
    outs = made(step, eqn.outvars)
    step.kind, step.bodies = "map", [body]
    step.detail = Mapping(
        mapped=[
            (outer, value, axis)
            for outer, value, axis in zip(step.inputs, inner, axes, strict=True)
            if axis is not None
        ],
        broadcast=[
            outer
            for outer, axis in zip(step.inputs[n:], region.in_axes, strict=True)
            if axis is None
        ],
        closed_over=step.inputs[:n],
        results=list(zip(outs, body.outputs, region.out_axes, strict=True)),
        size=region.axis_size,
        axis_name=region.axis_name,
        in_axes=region.in_axes,
        out_axes=region.out_axes,
        arguments=region.arguments,
    )
    builder.name_body(body, *region.origin)
    return outs


def _derive(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    region = eqn.params["region"]
    jaxpr, consts = closed(eqn.params["jaxpr"])
    n = region.num_closed_over
    inner = [Value(value.aval, producer=step, name=value.name) for value in step.inputs[n:]]
    body = builder.body(jaxpr, consts, [*step.inputs[:n], *inner], step)
    step.kind, step.bodies = "derive", [body]
    step.detail = Derivation(
        kind=region.kind,
        differentiated=list(zip(step.inputs[n:], inner, strict=True)),
        closed_over=step.inputs[:n],
        results=region.results,
        argnums=region.argnums,
        arguments=region.arguments,
    )
    builder.name_body(body, *region.origin)
    if body.place is None:
        body.function = _only_function_in(body)
    return list(body.outputs)


def _only_function_in(body: Body) -> str:
    """The user's function that a body of a library's is all made of, if there is one."""
    around = body.owner.frames if body.owner is not None else ()
    own = [[it for it in step.frames if it not in around] for step in body.steps]
    names = {frames[-1].function.split(".")[-1] if frames else "" for frames in own}
    return names.pop() if len(names) == 1 else ""


def _derivative(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    step.kind = "derivative"
    of = builder.regions.get(eqn.params["region"])
    if of is not None:
        of.detail.applied.append(step)
    step.detail = of
    return made(step, eqn.outvars)


def _shard(builder: Builder, step: Step, eqn: JaxprEqn) -> list[Value]:
    jaxpr, consts = closed(eqn.params["jaxpr"])
    in_specs, out_specs = eqn.params["in_specs"], eqn.params["out_specs"]
    pairs = [
        (outer, var, _divided(spec, len(outer.shape)))
        for outer, var, spec in zip(step.inputs, jaxpr.invars, in_specs, strict=True)
    ]
    inner = [
        Value(var.aval, producer=step, name=outer.name) if any(divided) else outer
        for outer, var, divided in pairs
    ]
    body = builder.body(jaxpr, consts, inner, step)
    outs = made(step, eqn.outvars)
    step.kind, step.bodies = "shard", [body]
    step.detail = Sharding(
        inputs=[
            (outer, value, divided) for (outer, _, divided), value in zip(pairs, inner, strict=True)
        ],
        outputs=[
            (out, value, _divided(spec, len(out.shape)))
            for out, value, spec in zip(outs, body.outputs, out_specs, strict=True)
        ],
        mesh=dict(eqn.params["mesh"].shape),
        made_by_pmap=is_made_by_pmap(jaxpr),
        is_named=not any(is_unnamed_axis(name) for name in eqn.params["mesh"].shape),
    )
    if step.detail.made_by_pmap:
        _name_by_frames(body)
    return outs


def _name_by_frames(body: Body) -> None:
    """Name a body after the user's function in it, where JAX has put one of its own around."""
    around = body.owner.frames if body.owner is not None else ()
    outermost = next((it.frames[-1] for it in body.walk() if it.frames != around), None)
    body.function = outermost.function.split(".")[-1] if outermost is not None else ""


def _divided(spec: Any, rank: int) -> tuple[tuple[str, ...], ...]:
    parts = [*spec, *(None,) * (rank - len(spec))]
    return tuple(
        () if part is None else part if isinstance(part, tuple) else (part,) for part in parts
    )


KINDS: dict[Any, Callable[[Builder, Step, JaxprEqn], list[Value]]] = {
    primitives.jit_p: _call,
    primitives.call_p: _call,
    primitives.closed_call_p: _call,
    primitives.custom_jvp_call_p: _call,
    primitives.custom_vjp_call_p: _call,
    remat_p: _call,
    custom_vmap_p: _call,
    composite_p: _call,
    operation_p: _expanded,
    primitives.scan_p: _scan,
    primitives.while_p: _while,
    primitives.cond_p: _cond,
    shard_map_p: _shard,
    region_p: _region,
    derivative_p: _derivative,
}
