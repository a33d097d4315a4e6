"""The third section: every value that crosses the boundary of a transformation, on both sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ...finding import Place
from ...report import Crossing, Tensor
from ..describe import name_of, tensor_of
from ..facts import Facts
from ..program import Body, Step, Value
from .lines import kind_of
from .stack import function_name, shown_steps

# A role, and the value before and after the boundary; `None` where there is no counterpart.
Pair = tuple[str, Value | None, Value | None]


def crossings(facts: Facts) -> tuple[Crossing, ...]:
    """All crossings, outer boundaries first; what repeats unchanged (unrolled layers) once."""
    found: dict[tuple[Crossing, ...], None] = {}
    for step in _boundaries([facts.program.body]):
        rows = tuple(_rows(facts, step))
        if rows:
            found[rows] = None
    return tuple(row for rows in found for row in rows)


def _boundaries(bodies: Iterable[Body]) -> Iterator[Step]:
    for step in shown_steps(bodies):
        yield step
        yield from _boundaries(step.bodies)


def _rows(facts: Facts, step: Step) -> Iterator[Crossing]:
    name = function_name(step)
    boundary = f"{kind_of(step)} of {name}" if name else kind_of(step)
    place = step.place or step.bodies[-1].place
    for role, before, after in _PAIRS.get(step.kind, _nothing)(step):
        yield _crossing(facts, boundary, place, role, before, after)


def _crossing(
    facts: Facts,
    boundary: str,
    place: Place | None,
    role: str,
    before: Value | None,
    after: Value | None,
) -> Crossing:
    named = [value for value in (before, after) if value is not None]
    name = next((value.name for value in named if value.name), "") or name_of(facts, named[0])
    return Crossing(boundary, place, role, name, _tensor(facts, before), _tensor(facts, after))


def _tensor(facts: Facts, value: Value | None) -> Tensor | None:
    return None if value is None else tensor_of(facts, value)


def _nothing(step: Step) -> Iterator[Pair]:
    return iter(())


def _same(role: str, values: Iterable[Value]) -> Iterator[Pair]:
    for value in values:
        if not (value.is_constant and not value.shape):
            yield role, value, value


def _call(step: Step) -> Iterator[Pair]:
    yield from _same("argument", step.inputs)
    yield from _same("result", step.outputs)


def _scan(step: Step) -> Iterator[Pair]:
    loop = step.detail
    yield from (("carry", *pair) for pair in zip(loop.initial, loop.carry, strict=True))
    yield from (("scanned", *pair) for pair in zip(loop.scanned, loop.slices, strict=True))
    yield from _same("closed over", loop.closed_over)
    yield from (("final carry", *pair) for pair in zip(loop.carried, loop.final, strict=True))
    yield from (("stacked", *pair) for pair in zip(loop.stacks, loop.stacked, strict=True))


def _map(step: Step) -> Iterator[Pair]:
    mapping = step.detail
    yield from (("mapped", outer, inner) for outer, inner, _ in mapping.mapped)
    yield from _same("broadcast", mapping.broadcast)
    yield from _same("closed over", mapping.closed_over)
    yield from (("result", inner, outer) for outer, inner, _ in mapping.results)


def _derive(step: Step) -> Iterator[Pair]:
    detail = step.detail
    yield from (("differentiated", outer, inner) for outer, inner in detail.differentiated)
    yield from _same("closed over", detail.closed_over)
    yield from _same("result", step.outputs[: detail.results])
    yield from _same("auxiliary", step.outputs[detail.results :])
    for applied in detail.applied:
        yield from (("derivative", None, value) for value in applied.outputs)


def _cond(step: Step) -> Iterator[Pair]:
    yield "predicate", step.inputs[0], None
    yield from _same("operand", step.inputs[1:])
    for at, out in enumerate(step.outputs):
        for number, branch in enumerate(step.bodies):
            yield f"result of branch {number}", branch.outputs[at], out


def _shard(step: Step) -> Iterator[Pair]:
    for outer, inner, _ in step.detail.inputs:
        yield "divided" if outer is not inner else "replicated", outer, inner
    yield from (("result", inner, outer) for outer, inner, _ in step.detail.outputs)


_PAIRS: dict[str, Callable[[Step], Iterator[Pair]]] = {
    "call": _call,
    "scan": _scan,
    "while": _scan,
    "map": _map,
    "derive": _derive,
    "cond": _cond,
    "shard": _shard,
}
