"""What the replicas of a named map share, and what each of them has for itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ....finding import Place
from ...events import Applied, Fact
from ...frame import Region
from ...graph import Node
from ...library.shards import replicated
from ...operations import COLLECTIVES, VIEWS, bare
from ...values import Class, Constant, Data, Instance, Sequence, Value, leaves, nodes_of
from ..loops.maps import applied_maps
from ..nodes import nodes_by, position_in
from ..numbers.meaning import first_behind
from ..written import written_at

if TYPE_CHECKING:
    from ...facts import SourceFacts

# What happens in there is not known: replicas may be united inside.
_OPAQUE = frozenset(("call", "object", "with", "yield"))
_BOUNDARIES = frozenset(("field", "item", "element", "primal", "lane", "turn", "carry", "join"))


_COUNTS = frozenset(("jax.lax.axis_size", "jax.device_count", "jax.local_device_count"))


def averaged_again(facts: SourceFacts) -> Iterator[tuple[Node, Node]]:
    """Divisions by the number of replicas of what is their mean already, with that mean."""
    if not any(it.kind == "collective" and it.data["name"] == "pmean" for it in facts.events(Fact)):
        return
    for node in nodes_by(facts, ("/",)):
        if len(node.operands) != 2:
            continue
        above, below = node.operands
        if isinstance(above, Data) and isinstance(below, Data) and _counts_replicas(below):
            mean = first_behind(above.node, lambda it: it.operation == "jax.lax.pmean")
            if mean is not None:
                yield node, mean


def _counts_replicas(value: Data) -> bool:
    """Whether it is `psum(1, axis)`, or asked for by name."""
    node = value.node
    is_sum = node.operation == "jax.lax.psum" and not node.inputs
    return is_sum or node.operation in _COUNTS or value.type in _COUNTS


@dataclass(frozen=True)
class OwnUpdate:
    """An update of something shared by a gradient that each replica has for itself."""

    place: Place
    name: str
    region: Region
    gradient: Place | None


def own_updates(facts: SourceFacts) -> Iterator[OwnUpdate]:
    """Updates inside of maps whose gradient went through no collective."""
    for event in (*applied_maps(facts), *_unchecked_shards(facts)):
        if event.transformed.kind != "pmap" and event.region.axis_name is None:
            continue
        # Who gives the axis of a pmap a name means its replicas to speak.
        unites = event.transformed.kind == "pmap" and event.region.axis_name is not None
        unites = unites or any(
            event.region in fact.data["over"] and fact.data["name"] in ("pmean", "psum")
            for fact in facts.events(Fact)
            if fact.kind == "collective"
        )
        said: set[str] = set()
        for leaf in leaves(event.result):
            found = _update(facts, event, leaf.node, unites)
            if found is not None and found.name not in said:
                said.add(found.name)
                yield found


def own_statistics(facts: SourceFacts) -> Iterator[OwnUpdate]:
    """Parts of a shared record that each replica renews for itself, while others are united.

    Whoever unites the new parameters of a learner means all of its parts to stay the same.
    """
    for event in (*applied_maps(facts), *_unchecked_shards(facts)):
        region = event.region
        for old, new in _renewed_records(event):
            pairs = list(zip(leaves(old), leaves(new), strict=False))
            is_shared = all(region not in it.node.varies for it, _ in pairs)
            if len(leaves(old)) != len(leaves(new)) or not is_shared:
                continue
            united = [united_before(it.node, frozenset((region,))) for _, it in pairs]
            collectives = [it for it in united if it is not None]
            for before, after in pairs if collectives else ():
                node = after.node
                is_own = region in node.varies and _differs(node, region) and not node.is_key
                if is_own and node.place is not None and node.depends_on(before.node):
                    place = _left_beside(collectives, node, region) or node.place
                    yield OwnUpdate(place, facts.name_of(before), region, None)
                    break


def _left_beside(collectives: list[Node], own: Node, region: Region) -> Place | None:
    """Where a function returns what each replica has for itself, beside what it has united."""
    made_from = set(own.ancestors())
    for collective in collectives:
        frame = collective.frame
        for syntax, value in frame.returns if frame is not None else ():
            nodes = nodes_of(value)
            left = [it for it in nodes if it in made_from and region in it.varies]
            if frame is not None and collective in nodes and left:
                return frame.place(written_at(frame, syntax, value, left[0]))
    return None


def _renewed_records(event: Applied) -> Iterator[tuple[Value, Value]]:
    """Records that a mapped function gets, each with what it returns of the same class."""
    result = event.result
    parts = [result, *((result.items or ()) if isinstance(result, Sequence) else ())]
    for old in event.inner.values():
        cls = _class_of(old)
        new = next((it for it in parts if cls is not None and _class_of(it) is cls), None)
        if new is not None:
            yield old, new


def _class_of(value: Value) -> Class | None:
    if isinstance(value, Instance):
        return value.cls
    return value.type if isinstance(value, Sequence) else None


def _unchecked_shards(facts: SourceFacts) -> Iterator[Applied]:
    """Calls of what `shard_map` made that do not let JAX watch over what differs where.

    If it does, a gradient for what all devices share is summed over them of itself.
    """
    for event in facts.events(Applied):
        if event.transformed.kind == "shard_map" and not _is_checked(event):
            yield event


def _is_checked(event: Applied) -> bool:
    """Whether JAX itself watches over what differs between devices."""
    options = event.transformed.options
    given = [options[name] for name in ("check_vma", "check_rep") if name in options]
    return not any(isinstance(it, Constant) and it.value is False for it in given)


def not_united(facts: SourceFacts) -> Iterator[tuple[Applied, Data]]:
    """Results of `shard_map` that each device has for itself, though all are said to have one."""
    for event in facts.events(Applied):
        region = event.region
        if event.transformed.kind != "shard_map" or region.axis_name is None:
            continue
        for leaf in replicated(event.result, event.transformed.options.get("out_specs")):
            if _differs(leaf.node, region):
                yield event, leaf
                break


def _differs(result: Node, region: Region) -> bool:
    """Whether a result is made from what is divided, by operations of which all is known.

    Gradients are `own_updates`, or summed over the devices of themselves.
    """
    pending, seen = [result], {result}
    is_found = False
    while pending:
        node = pending.pop()
        if node.operation in _OPAQUE or node.operation in COLLECTIVES:
            return False
        if node.operation in ("join", "gradient") or node.operation.startswith("flax."):
            return False
        is_found = is_found or (node.operation == "lane" and region in node.varies)
        for source in node.inputs:
            if source not in seen and region in source.varies:
                seen.add(source)
                pending.append(source)
    return is_found


def _update(facts: SourceFacts, event: Applied, result: Node, unites: bool) -> OwnUpdate | None:
    region = event.region
    if region not in result.varies:
        return None
    for path in _ways_to_gradients(result, region):
        gradient = path[-1]
        # What is given to each replica for itself may be meant to differ, unless they speak.
        if not gradient.inputs:
            continue
        is_own = region in gradient.inputs[0].varies
        if is_own and not (unites and _is_of_own_data(gradient, region)):
            continue
        argument = _owner(gradient.inputs[0])
        for node in reversed(path[:-1]):
            others = [it for it in node.inputs if it not in path]
            place = _applied_at(node, gradient)
            if place is not None and any(_owner(it) is argument for it in others):
                name = facts.name_of(Data(gradient.inputs[0]))
                return OwnUpdate(place, name, region, gradient.place)
    return None


def _is_of_own_data(gradient: Node, region: Region) -> bool:
    """Whether a gradient is taken on data of the replica's own, beside what it is for.

    Walkers of a sampler follow gradients as well, of one function for all of them, and speak of
    where they are; they are not meant to be the same.
    """
    argument = _owner(gradient.inputs[0])
    pending, seen = list(gradient.inputs), set(gradient.inputs)
    while pending:
        node = pending.pop()
        is_lane = node.operation == "lane" and not node.is_key
        if node.operation in _OPAQUE or (is_lane and _owner(node) is not argument):
            return True
        for source in node.inputs:
            if source not in seen and region in source.varies:
                seen.add(source)
                pending.append(source)
    return False


def _applied_at(update: Node, gradient: Node) -> Place | None:
    """Where who takes a gradient, or has it taken, hands it on to be applied.

    There it could be united before.
    """
    for taker in gradient.frame.callers() if gradient.frame is not None else ():
        syntax = position_in(taker, update)
        if syntax is not None:
            return taker.place(syntax)
    return update.place


def _ways_to_gradients(result: Node, region: Region) -> Iterator[list[Node]]:
    """Ways from a result back to gradients, through nodes that differ between replicas."""
    pending = [[result]]
    seen = {result}
    while pending:
        path = pending.pop()
        node = path[-1]
        if node.operation == "gradient":
            yield path
            continue
        if node.operation in _OPAQUE or node.operation in COLLECTIVES or len(path) > 60:
            continue
        for source in node.inputs:
            if source not in seen and region in source.varies:
                seen.add(source)
                pending.append([*path, source])


def _owner(node: Node) -> Node:
    """The whole of which a value is a part."""
    while node.operation in _BOUNDARIES and node.inputs:
        node = node.inputs[0]
    return node


def united_before(node: Node, over: frozenset[Region]) -> Node | None:
    """The collective after which a value is the same on all replicas, if it is."""
    if over & node.varies:
        return None
    seen = {node}
    pending = [node]
    found: Node | None = None
    while pending:
        it = pending.pop()
        # Derivatives of what is the same need not be the same.
        if it.operation in _OPAQUE or it.operation in ("gradient", "join"):
            return None
        if it.operation in COLLECTIVES and it.inputs and over & it.inputs[0].varies:
            found = it
            continue
        for source in it.inputs:
            if source not in seen:
                seen.add(source)
                pending.append(source)
    return found


_SUMS = frozenset(("sum", "count_nonzero", "nansum"))
_KEPT = bare(VIEWS) | {"+", "maximum", "clip", "max", "where"}


def own_quotient(node: Node, over: frozenset[Region]) -> Node | None:
    """The division by a count that each replica took of its own data, if a value is one."""
    for _ in range(8):
        if node.operation == "/" and len(node.inputs) == 2:
            return node if _is_own_count(node.inputs[1], over) else None
        is_scaled = node.operation in ("*", "-x", "last", "stack", "join") and len(node.inputs) == 1
        if not is_scaled:
            return None
        node = node.inputs[0]
    return None


def _is_own_count(node: Node, over: frozenset[Region]) -> bool:
    """Whether a denominator is a sum over data, kept away from zero perhaps."""
    for _ in range(6):
        name = node.operation.rpartition(".")[2]
        if not over & node.varies:
            return False
        if name in _SUMS:
            return True
        if name not in _KEPT or len(node.inputs) != 1:
            return False
        node = node.inputs[0]
    return False
