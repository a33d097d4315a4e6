"""The first section: data flow from every input leaf to every output leaf, by lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace

from ...report import Flow, FlowStep, FlowValue
from ..describe import listed, tensor_of
from ..facts import Facts
from ..program import Step, Value
from .folding import runs
from .lines import Node
from .operations import phrases


def flow_of(facts: Facts) -> Flow:
    """The data flow of the traced function."""
    return _Flow(facts).flow()


class _Flow:
    def __init__(self, facts: Facts):
        self._facts = facts
        self._order = facts.order
        self._ids: dict[Value, str] = {}
        self._taken: set[str] = set()
        # Values of repetitions that are not shown, to those of the one that is.
        self._alias: dict[str, str] = {}
        self._forms: dict[Hashable, int] = {}

    def flow(self) -> Flow:
        """All of it."""
        traced, body = self._facts.traced, self._facts.program.body
        inputs = tuple(
            FlowValue(self._id(value), leaf.name, tensor_of(self._facts, value))
            for value, leaf in zip(body.inputs, traced.inputs, strict=True)
        )
        nodes = self._facts.lines
        notes = (*self._used_often(nodes), *self._unused())
        steps, _ = self._folded(nodes)
        self._name_parts_of_lines(steps)
        outputs = tuple(
            FlowValue(self._alias_of(self._id(value)), name, tensor_of(self._facts, value))
            for value, name in zip(body.outputs, self._output_names(), strict=False)
        )
        return Flow(
            traced.name,
            traced.place,
            inputs,
            tuple(self._resolved(step) for step in steps),
            outputs,
            notes,
        )

    # --- names

    def _id(self, value: Value) -> str:
        if value not in self._ids:
            inner = value.producer is not None and value not in value.producer.outputs
            same = _outside(value) if inner else None
            if same is not None:
                self._ids[value] = self._id(same)
                return self._ids[value]
            wish = value.name if value.producer is None or inner else ""
            if value.is_constant:
                wish = f"captured {tensor_of(self._facts, value)}"
            elif inner and not wish:
                wish = f"{tensor_of(self._facts, value)} of the {value.producer.kind}"  # pyright: ignore[reportOptionalMemberAccess]
            wish = wish or f"v{len(self._ids)}"
            unique = wish if wish not in self._taken else f"{wish} ({len(self._ids)})"
            self._taken.add(unique)
            self._ids[value] = unique
        return self._ids[value]

    def _output_names(self) -> list[str]:
        paths = self._facts.traced.outputs
        return ["output" + path for path in paths]

    def _alias_of(self, name: str) -> str:
        """What stands for a value, if it is not shown itself."""
        while name in self._alias:
            name = self._alias[name]
        return name

    def _name_parts_of_lines(self, steps: Sequence[FlowStep]) -> None:
        """Values that a line makes on the way, for a function that it calls, are no line's own."""
        shown = {value.id for outer in steps for _, it in outer.walk() for value in it.produces}
        for value, name in list(self._ids.items()):
            step = value.producer
            hidden = name.startswith("v") and self._alias_of(name) not in shown
            if hidden and step is not None and step.place is not None and value.name != name:
                wish = f"{tensor_of(self._facts, value)} of line {step.place.line}"
                self._alias[name] = wish

    def _resolved(self, step: FlowStep) -> FlowStep:
        if not self._alias:
            return step
        return replace(
            step,
            consumes=_unique(self._alias_of(it) for it in step.consumes),
            consumed_by=_unique(self._alias_of(it) for it in step.consumed_by),
            children=tuple(self._resolved(child) for child in step.children),
        )

    # --- lines

    def _folded(self, nodes: Sequence[Node]) -> tuple[tuple[FlowStep, ...], int]:
        """Steps of sibling lines, repetitions once, and a number for the form that they have."""
        made = [self._step(node, nodes) for node in nodes]
        forms = [form for _, form in made]
        found: list[FlowStep] = []
        for run in runs(forms):
            block = [step for step, _ in made[run.start : run.start + run.length]]
            if run.times == 1:
                found += block
                continue
            shown = self._show_last(made, run.start, run.length, run.times)
            if len(shown) == 1:
                found.append(replace(shown[0], repeat=run.times * shown[0].repeat))
            else:
                found.append(self._block(shown, run.times))
        return tuple(found), self._form(tuple(forms))

    def _show_last(
        self, made: Sequence[tuple[FlowStep, int]], start: int, length: int, times: int
    ) -> list[FlowStep]:
        """The first repetition, with the values of the last one, which later lines use."""
        last = [step for step, _ in made[start + (times - 1) * length : start + times * length]]
        for repetition in range(times - 1):
            for offset, of_last in enumerate(last):
                step, _ = made[start + repetition * length + offset]
                self._unite(step, of_last)
        firsts = [step for step, _ in made[start : start + length]]
        return [
            replace(first, produces=of_last.produces, consumed_by=of_last.consumed_by)
            for first, of_last in zip(firsts, last, strict=True)
        ]

    def _unite(self, step: FlowStep, shown: FlowStep) -> None:
        for one, other in zip(step.produces, shown.produces, strict=False):
            if one.id != other.id:
                self._alias[one.id] = other.id

    def _block(self, steps: Sequence[FlowStep], times: int) -> FlowStep:
        lines = [step.place.line for step in steps if step.place]
        inside = {value.id for step in steps for value in step.produces}
        text = f"lines {min(lines)} to {max(lines)}" if lines else ""
        return FlowStep(
            text=text,
            place=steps[0].place,
            consumes=_unique(
                it for step in steps for it in step.consumes if self._alias_of(it) not in inside
            ),
            produces=(),
            children=tuple(steps),
            repeat=times,
            kind="block",
        )

    def _form(self, key: Hashable) -> int:
        return self._forms.setdefault(key, len(self._forms))

    def _step(self, node: Node, siblings: Sequence[Node]) -> tuple[FlowStep, int]:
        produced = self._produced(node)
        names = self._names(node, produced)
        values = tuple(
            FlowValue(self._id(value), name, tensor_of(self._facts, value))
            for value, name in zip(produced, names, strict=True)
        )
        consumed = self._consumed(node)
        children, inner = self._folded(node.children)
        consumers = self._consumers(node, produced, siblings)
        step = FlowStep(
            text=node.text,
            place=node.place,
            consumes=_unique(self._id(value) for value in consumed),
            produces=values,
            consumed_by=consumers,
            notes=tuple(self._notes(node, produced, names, consumed, len(consumers))),
            children=children,
            kind=node.kind,
        )
        where = (node.place.file, node.place.line) if node.place else ""
        tensors = tuple(value.tensor for value in values)
        return step, self._form((where, node.kind, node.text, tensors, inner))

    def _steps_in(self, node: Node) -> list[Step]:
        return self._order.steps[node.start : node.end]

    def _produced(self, node: Node) -> list[Value]:
        """Values that a line makes and something after it uses; the last one if nothing does."""
        made = [
            value
            for step in self._steps_in(node)
            for value in step.outputs
            if value.producer is step
        ]
        escaping = [it for it in made if self._order.reaches_beyond(it, node)]
        unused = [it for it in made[-1:] if it not in escaping and not escaping]
        return list(dict.fromkeys([*escaping, *unused]))

    def _names(self, node: Node, produced: Sequence[Value]) -> list[str]:
        targets = [name for name in node.targets if name != "_"]
        if len(produced) == 1 and len(targets) == 1:
            return targets
        if len(targets) == len(produced) and "_" not in node.targets:
            outputs = next(
                (step.outputs for step in node.own if list(step.outputs) == list(produced)), None
            )
            if outputs is not None:
                return targets
        if len(targets) == 1 and len(node.targets) == 1:
            count = len(produced)
            return [f"{targets[0]} ({at + 1} of {count})" for at in range(count)]
        return [""] * len(produced)

    def _consumed(self, node: Node) -> list[Value]:
        found: dict[Value, None] = {}
        made_at = self._order.made_at
        for step in self._steps_in(node):
            for value in step.inputs:
                is_literal = value.is_constant and not value.shape
                if not is_literal and made_at(value) < node.start:
                    found[value] = None
        return list(found)

    def _consumers(
        self, node: Node, produced: Sequence[Value], siblings: Sequence[Node]
    ) -> tuple[str, ...]:
        starts = [it.start for it in siblings]
        users: dict[Node, None] = {}
        for value in produced:
            for step in value.consumers:
                position = self._order.start[step]
                at = bisect_right(starts, position) - 1
                if position >= node.end and at >= 0 and position < siblings[at].end:
                    users[siblings[at]] = None
        return _unique(self._id(value) for user in users for value in self._produced(user)[:1])

    # --- notes

    def _notes(
        self,
        node: Node,
        produced: Sequence[Value],
        names: Sequence[str],
        consumed: Sequence[Value],
        consumers: int,
    ) -> Iterable[str]:
        facts = self._facts
        yield from phrases(facts, node.own)
        for value, name in zip(produced, names, strict=True):
            meaning = facts.meaning.phrase(value)
            if meaning and len(produced) > 1 and name:
                meaning = f"{name}: {meaning}"
            if meaning:
                yield meaning
        # Not what only crossed a boundary: a slice, an argument that is differentiated.
        computed = [it for it in consumed if it.producer is not None and it in it.producer.outputs]
        if node.kind == "line" and len(computed) > 1:
            sources = [self._known(it) for it in computed]
            if all(sources) and len(set(sources)) > 1:
                yield f"merges {listed(sources)}"
        if consumers > 1:
            yield f"used by {consumers} lines"
        ended = facts.traced.failure is None
        if ended and produced and not any(value in facts.live for value in produced):
            yield "computed and discarded: no output depends on it"

    def _known(self, value: Value) -> str:
        from ..describe import assigned_name

        return assigned_name(self._facts, value)

    def _used_often(self, nodes: Sequence[Node]) -> Iterable[str]:
        """Inputs that feed several lines, those of one parameter together."""
        starts = [it.start for it in nodes]
        together: dict[tuple[str, tuple[int, ...]], list[str]] = {}
        inputs = zip(self._facts.program.body.inputs, self._facts.traced.inputs, strict=True)
        for value, leaf in inputs:
            users = {bisect_right(starts, self._order.start[step]) - 1 for step in _users(value)}
            places = [nodes[at].place for at in users if at >= 0]
            lines = tuple(sorted({it.line for it in places if it is not None}))
            if len(lines) > 1:
                together.setdefault((leaf.parameter, lines), []).append(leaf.name)
        for (parameter, lines), names in together.items():
            what = names[0] if len(names) == 1 else f"{parameter} ({len(names)} leaves)"
            yield f"{what} is used in lines {listed([str(it) for it in lines])}"

    def _unused(self) -> Iterable[str]:
        """Inputs on which no output depends."""
        if self._facts.traced.failure is not None:
            return
        body = self._facts.program.body
        unused = [value.name for value in body.inputs if value not in self._facts.live]
        if unused:
            verb = "reaches" if len(unused) == 1 else "reach"
            yield f"{listed(unused, most=12)} never {verb} an output"


def _outside(value: Value) -> Value | None:
    """The value outside of a derivative that an argument inside of it is."""
    step = value.producer
    if step is None or step.kind != "derive":
        return None
    return next((outer for outer, inner in step.detail.differentiated if inner is value), None)


def _users(value: Value) -> Iterable[Step]:
    # A call uses its inputs only through the steps of its body, which share them.
    return [step for step in value.consumers if step.kind != "call"]


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
