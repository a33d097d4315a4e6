"""Less of a report: only so deep, or only what has to do with one name.

Both shorten the data flow and the transformation stack; findings stay, whatever is shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .close import close_names
from .report import Flow, FlowStep, Report, Transformation


def to_depth(report: Report, depth: int) -> Report:
    """The report with steps and transformations inside of others shown only `depth` levels deep.

    A step whose inside is left out says how much that is.
    """
    flows = tuple(
        _with_names(
            replace(flow, steps=tuple(_step_to_depth(it, depth) for it in flow.steps)), flow
        )
        for flow in report.data_flow
    )
    stack = tuple(_node_to_depth(node, depth) for node in report.transformation_stack)
    return replace(report, data_flow=flows, transformation_stack=stack)


def _step_to_depth(step: FlowStep, depth: int) -> FlowStep:
    if depth > 0:
        return replace(step, children=tuple(_step_to_depth(it, depth - 1) for it in step.children))
    if not step.children:
        return step
    hidden = sum(1 for _ in step.walk()) - 1
    note = f"{hidden} step{'s' * (hidden != 1)} inside"
    return replace(step, children=(), notes=(*step.notes, note))


def _node_to_depth(node: Transformation, depth: int) -> Transformation:
    if depth > 0:
        return replace(node, children=tuple(_node_to_depth(it, depth - 1) for it in node.children))
    if not node.children:
        return node
    hidden = sum(1 for _ in node.walk()) - 1
    effect = f"{hidden} transformation{'s' * (hidden != 1)} inside"
    return replace(node, children=(), effects=(*node.effects, effect))


def focus(report: Report, name: str) -> Report:
    """The report with only those steps and transformations that have to do with `name`.

    These are the steps that make or use a value of that name (`params` means `params['w']` too),
    those in a function of that name, and what encloses them. A name that is nowhere is a note.
    """
    flows = tuple(_with_names(_focused(flow, name), flow) for flow in report.data_flow)
    stack = tuple(
        kept for node in report.transformation_stack if (kept := _focused_node(node, name))
    )
    notes = report.notes
    if not stack and not any(flow.steps or flow.inputs or flow.outputs for flow in flows):
        known = sorted(_all_names(report))
        close = close_names(name, known)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(known)}"
        notes = (*notes, f"nothing is called {name!r}; {hint if known else 'nothing has a name'}")
    return replace(report, data_flow=flows, transformation_stack=stack, notes=notes)


def _focused(flow: Flow, name: str) -> Flow:
    ids = {value.id for value in (*flow.inputs, *flow.outputs) if _means(name, value.name)}
    for step in _all_steps(flow.steps):
        ids.update(value.id for value in step.produces if _means(name, value.name))
    return replace(
        flow,
        inputs=tuple(value for value in flow.inputs if value.id in ids),
        steps=_focused_steps(flow.steps, name, ids),
        outputs=tuple(value for value in flow.outputs if value.id in ids),
    )


def _focused_steps(steps: Iterable[FlowStep], name: str, ids: set[str]) -> tuple[FlowStep, ...]:
    kept: list[FlowStep] = []
    for step in steps:
        inside = _focused_steps(step.children, name, ids)
        in_function = step.place is not None and step.place.function.split(".")[-1] == name
        touches = not ids.isdisjoint({*step.consumes, *(value.id for value in step.produces)})
        if in_function:
            kept.append(step)
        elif touches or inside:
            kept.append(replace(step, children=inside))
    return tuple(kept)


def _focused_node(node: Transformation, name: str) -> Transformation | None:
    if node.name.split(".")[-1] == name or node.name == name:
        return node
    inside = tuple(kept for child in node.children if (kept := _focused_node(child, name)))
    return replace(node, children=inside) if inside else None


def _with_names(part: Flow, whole: Flow) -> Flow:
    """A part of a flow, in which values that are no longer there go by name instead of by id."""
    names = whole.value_names()
    gone = names.keys() - part.value_names().keys()

    def named(step: FlowStep) -> FlowStep:
        return replace(
            step,
            consumes=tuple(names[it] if it in gone else it for it in step.consumes),
            consumed_by=tuple(names[it] if it in gone else it for it in step.consumed_by),
            children=tuple(named(child) for child in step.children),
        )

    return replace(part, steps=tuple(named(step) for step in part.steps)) if gone else part


def _means(wanted: str, name: str) -> bool:
    return name == wanted or name.startswith((f"{wanted}[", f"{wanted}."))


def _all_steps(steps: Iterable[FlowStep]) -> Iterable[FlowStep]:
    return (step for outer in steps for _, step in outer.walk())


def _all_names(report: Report) -> set[str]:
    names: set[str] = set()
    for flow in report.data_flow:
        names.update(value.name for value in (*flow.inputs, *flow.outputs))
        for step in _all_steps(flow.steps):
            names.update(value.name for value in step.produces)
            names.add(step.place.function if step.place else "")
    for outer in report.transformation_stack:
        names.update(node.name for _, node in outer.walk())
    return names - {""}
