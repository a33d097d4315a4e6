"""The second section: the tree of transformations, their settings, and what they do to axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from ...report import Transformation
from ..describe import axes_of, listed, name_of, tensor_of
from ..facts import Facts
from ..program import Body, Sharding, Step, Value
from .folding import runs
from .lines import kind_of

Settings = list[tuple[str, str]]


def transformations(facts: Facts) -> tuple[Transformation, ...]:
    """The transformations of the traced function, nested as they apply."""
    return _inside(facts, [facts.program.body])


def _inside(facts: Facts, bodies: Iterable[Body]) -> tuple[Transformation, ...]:
    found: list[Transformation] = []
    for step in shown_steps(bodies):
        children = _inside(facts, step.bodies)
        settings, effects = _DESCRIBE.get(step.kind, _nothing)(facts, step)
        found.append(
            Transformation(
                kind_of(step),
                function_name(step),
                step.place or step.bodies[-1].place,
                tuple(settings),
                tuple(effects),
                children,
            )
        )
    return tuple(
        replace(found[run.start + offset], repeat=run.times) if run.times > 1 else found[at]
        for run in runs(found)
        for offset, at in enumerate(range(run.start, run.start + run.length))
    )


def shown_steps(bodies: Iterable[Body]) -> Iterator[Step]:
    """The outermost steps in bodies that are transformations of the user's.

    A library's own jits and loops (those of `jnp.where`, `jax.random.normal`…) are left out, but
    not what the user's functions do below them.
    """
    for body in bodies:
        for step in body.steps:
            if not step.bodies:
                continue
            if is_shown(step):
                yield step
            else:
                yield from shown_steps(step.bodies)


def is_shown(step: Step) -> bool:
    """Whether a transformation is the user's."""
    if step.kind == "call":
        return step.bodies[0].place is not None
    if step.kind in ("map", "derive", "shard"):
        return True
    return any(body.place is not None or _holds_user_code(body, step) for body in step.bodies)


def _holds_user_code(body: Body, owner: Step) -> bool:
    return any(
        step.frames != owner.frames or any(_holds_user_code(it, owner) for it in step.bodies)
        for step in body.steps
    )


def function_name(step: Step) -> str:
    """The name of the transformed function; empty where there is none to speak of."""
    names = [body.function for body in step.bodies if body.function]
    if step.kind == "cond":
        return ", ".join(names)
    name = names[-1] if names else ""
    return "" if name.startswith("<unknown") else name


def _nothing(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    return [], []


def _call(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    donated = step.params.get("donated_invars") or ()
    settings: Settings = []
    if any(donated):
        names = [name_of(facts, it) for it, d in zip(step.inputs, donated, strict=True) if d]
        settings.append(("donated", listed(names)))
    effects: list[str] = []
    if kind_of(step) == "checkpoint":
        policy = step.params.get("policy")
        settings.append(("policy", getattr(policy, "__name__", "nothing saved")))
        effects.append("computes its inside again in the backward pass instead of keeping it")
    if kind_of(step) in ("custom_jvp", "custom_vjp"):
        effects.append("has a derivative rule of its own")
    return settings, effects


def _map(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    mapping = step.detail
    settings: Settings = [
        ("in_axes", _by_name(mapping.arguments, mapping.in_axes)),
        ("out_axes", _by_name((), mapping.out_axes)),
        ("size", str(mapping.size)),
    ]
    if mapping.axis_name is not None:
        settings.append(("axis_name", repr(mapping.axis_name)))
    gone = listed(axis_in_words(facts, outer, axis) for outer, _, axis in mapping.mapped)
    effects = [f"maps {gone} away"] if gone else []
    back = [
        f"axis {axis} of {tensor_of(facts, outer)}"
        for outer, _, axis in mapping.results
        if axis not in (0, None)
    ]
    effects += [f"puts it back as {listed(back)}"] if back else []
    shared = [name_of(facts, value) for value in mapping.broadcast]
    effects += [f"gives every element the same {listed(shared)}"] if shared else []
    return settings, effects


def axis_in_words(facts: Facts, value: Value, axis: int) -> str:
    """The name of an axis, or where it is."""
    return axes_of(facts, value)[axis] or f"axis {axis} (size {value.shape[axis]})"


def _by_name(names: Sequence[str], axes: Sequence[int | None]) -> str:
    if len(set(axes)) == 1:
        return str(axes[0])
    if len(names) != len(axes):
        names = ()
    texts = [f"{name}: {axis}" for name, axis in zip(names, axes, strict=False)]
    texts = texts or [str(axis) for axis in axes]
    shown = texts if len(texts) <= 8 else [*texts[:8], f"… {len(texts) - 8} more"]
    return f"({', '.join(shown)})"


def _scan(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    loop = step.detail
    settings: Settings = [("length", str(loop.length))]
    settings.append(("direction", "backward" if loop.reverse else "forward"))
    if loop.unroll != 1:
        settings.append(("unroll", str(loop.unroll)))
    settings.append(("carry", _values(facts, loop.carry)))
    if loop.slices:
        settings.append(("slices", _values(facts, loop.slices)))
    axes = listed(axis_in_words(facts, value, 0) for value in loop.scanned)
    effects = [f"scans over {axes}"] if axes else [f"repeats {loop.length} times"]
    if loop.stacked:
        count = len(loop.stacked)
        effects.append(f"stacks {count} result{'s' * (count > 1)} along a new leading axis")
    return settings, effects


def _while(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    return [("carry", _values(facts, step.detail.carry))], ["repeats while its condition holds"]


def _cond(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    chosen = name_of(facts, step.inputs[0])
    return [("branches", str(len(step.bodies)))], [f"chooses by {chosen}"]


def _derive(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    detail = step.detail
    settings: Settings = []
    if detail.argnums is not None:
        settings.append(("argnums", str(detail.argnums)))
    auxiliary = len(step.outputs) - detail.results
    if auxiliary:
        settings.append(("auxiliary", str(auxiliary)))
    about = listed(name_of(facts, outer) for outer, _ in detail.differentiated)
    results = listed(str(tensor_of(facts, value)) for value in step.outputs[: detail.results])
    return settings, [f"differentiates {results} with respect to {about}"]


def _shard(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    sharding = step.detail
    if sharding.made_by_pmap:
        return _pmap(facts, step)
    mesh = ", ".join(f"{name}={size}" for name, size in sharding.mesh.items())
    divided: dict[str, None] = {}
    for outer, _, dims in sharding.inputs:
        for axis, names in enumerate(dims):
            if names:
                divided[f"{axis_in_words(facts, outer, axis)} over {listed(names)}"] = None
    return [("mesh", mesh)], [f"divides {it}" for it in divided]


def _pmap(facts: Facts, step: Step) -> tuple[Settings, list[str]]:
    sharding: Sharding = step.detail
    in_axes, out_axes = (
        [next((axis for axis, names in enumerate(dims) if names), None) for _, _, dims in values]
        for values in (sharding.inputs, sharding.outputs)
    )
    settings: Settings = [
        ("in_axes", _by_name([outer.name for outer, _, _ in sharding.inputs], in_axes)),
        ("out_axes", _by_name((), out_axes)),
        ("devices", str(sharding.devices)),
    ]
    if sharding.is_named:
        settings.append(("axis_name", repr(next(iter(sharding.mesh)))))
    pairs = zip(sharding.inputs, in_axes, strict=True)
    gone = {
        axis_in_words(facts, outer, axis): None for (outer, _, _), axis in pairs if axis is not None
    }
    shared = [name_of(facts, outer) for outer, inner, _ in sharding.inputs if outer is inner]
    effects = [f"maps {listed(gone)} away, an element for each device"] if gone else []
    effects += [f"gives every device the same {listed(shared)}"] if shared else []
    return settings, effects


def _values(facts: Facts, values: Sequence[Value]) -> str:
    texts = [f"{value.name} {tensor_of(facts, value)}".strip() for value in values]
    return listed(texts, most=6) or "nothing"


_DESCRIBE: dict[str, Callable[[Facts, Step], tuple[Settings, list[str]]]] = {
    "call": _call,
    "map": _map,
    "scan": _scan,
    "while": _while,
    "cond": _cond,
    "derive": _derive,
    "shard": _shard,
}
