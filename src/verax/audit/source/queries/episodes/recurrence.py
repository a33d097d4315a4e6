"""How a loop feeds its carry back into itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING

from ....words import is_episode_end, may_be_episode_boundary, words_of
from ...events import Loop
from ...frame import Frame, Region
from ...graph import Node, sources
from ...library.cells import CELLS
from ...library.layers import is_linear
from ...operations import CASTS, CONTRACTIONS, JOINS, PARTS, SELECTIONS
from ...values import NONE, Constant, Data, Value, leaves, nodes_of
from ..loops.bodies import behind, paired_leaves
from ..names import named_parts, names_of
from .ends import named_ends
from .errors import is_made_of_ends, shares
from .negation import without_shape

if TYPE_CHECKING:
    from ...facts import SourceFacts

# They let a value through whatever they are joined with.
_SUMS = JOINS | {"+", "-"}
_PLAIN = _SUMS | CASTS | {"join", "item", "field", "element", "stack", "lane"}
_STATISTICS = frozenset("mean var std count counts stats statistics ema avg rms total".split())


def flags_of(facts: SourceFacts, loop: Loop, frame: Frame) -> list[Node]:
    """What a body gets of flags that say where episodes end, as far as it uses them."""
    used = behind(loop.returned)
    slices = {leaf.node for leaf in leaves(loop.slices)} if loop.slices is not None else set()
    found = [node for node in slices if node in used and _is_flag(facts, node, frame)]
    found += [
        share
        for whole, share in shares(loop)
        if share in used and is_made_of_ends(facts, loop.frame, whole)
    ]
    return [*found, *flags_taken(facts, used, loop.region, frame, slices)]


def marks_of(facts: SourceFacts, loop: Loop, frame: Frame) -> set[Node]:
    """What a body gets and uses of flags whose names may mean that episodes begin or end there."""
    turned = {without_shape(it.inputs[0]) for it in behind(loop.returned) if _is_rest_of_one(it)}
    return {
        node
        for node in parts_of_slices(loop)
        if (node.dtype == "bool" or node in turned)
        and any(map(may_be_episode_boundary, names_of(facts, node, frame)))
    }


def parts_of_slices(loop: Loop) -> set[Node]:
    """What a body gets and uses: its slices, parts of these, and elements of arrays outside."""
    slices = {leaf.node for leaf in leaves(loop.slices)} if loop.slices is not None else set[Node]()
    used = behind(loop.returned)
    return {it for it in used if it in slices or _is_given(it, slices, loop.region)}


def _is_rest_of_one(node: Node) -> bool:
    """Whether something is one minus another: so a flag that is a number is turned round."""
    match node.operands:
        case (Constant(value=1), Data() as flag):
            return node.operation == "-" and node.inputs == (flag.node,)
        case _:
            return False


def flags_taken(
    facts: SourceFacts,
    used: set[Node],
    region: Region,
    frame: Frame,
    slices: Set[Node] = frozenset(),
) -> set[Node]:
    """Flags that a turn takes out of its slice, or of an array outside at its number."""
    return {
        node for node in used if _is_given(node, slices, region) and _is_flag(facts, node, frame)
    }


def _is_part(node: Node) -> bool:
    """Whether a value is taken from another, or is what a turn gets of what it goes through."""
    is_turn = node.operation == "turn" and bool(node.inputs)
    return node.operation in PARTS or (is_turn and node.inputs[0].operation == "element")


def _is_given(node: Node, slices: Set[Node], region: Region) -> bool:
    if not _is_part(node) or region not in node.varies:
        return False
    while _is_part(node) and node not in slices and node.inputs:
        node = node.inputs[0]
    return node in slices or region not in node.varies


def _is_flag(facts: SourceFacts, node: Node, frame: Frame) -> bool:
    return any(map(is_episode_end, names_of(facts, node, frame)))


_NEVER_ZERO = CELLS | {
    *("jax.nn.sigmoid", "jax.nn.softmax", "jax.nn.softplus", "jax.lax.logistic"),
}


def depending(value: Value | None, sources: set[Node]) -> set[Node]:
    """All nodes on the way from some flags to a value that may be zero where these are set.

    The gates of a network never are, nor what a cell makes, whatever they are made from.
    """
    return reaching(behind(value), sources, _NEVER_ZERO)


def reaching(
    nodes: set[Node], sources: set[Node], beside: frozenset[str] = frozenset()
) -> set[Node]:
    """Those of some nodes that are made from some sources, by ways among these nodes.

    No way goes through the operations `beside`.
    """
    found, open_ones = set(sources), {it for it in nodes if it.operation not in beside}
    grows = True
    while grows:
        new = {it for it in open_ones if it not in found and not found.isdisjoint(it.inputs)}
        found |= new
        grows = bool(new)
    return found


def trains(carried: Value | None) -> bool:
    """Whether what a loop carries is made by gradients: they are parameters."""
    return any(
        node.operation == "gradient" or "update" in node.operation or "optax" in node.operation
        for node in behind(carried)
    )


def feedback_path(
    after: Node, before: Node, flags: set[Node], told: set[Node]
) -> list[Node] | None:
    """A way from a carry to its next value that the flags do not gate, if there is one.

    A plain sum is no such way: what counts or adds up is often meant to go on. Nor are the flags,
    which may well depend on what is carried; `told` are all values that depend on them.
    """
    pending: list[tuple[Node, tuple[Node, ...], bool]] = [(after, (after,), False)]
    seen: set[tuple[Node, bool]] = set()
    while pending:
        node, path, changes = pending.pop()
        if node is before:
            if changes:
                return list(path)
            continue
        if (node, changes) in seen or node in flags:
            continue
        seen.add((node, changes))
        for source in _made_by_turns(node):
            if not _is_gated(node, source, told):
                through = changes or node.operation not in _PLAIN
                pending.append((source, (*path, source), through))
    return None


def _made_by_turns(node: Node) -> Sequence[Node]:
    """What a value is made from; after a loop, by its iterations, of which there are some.

    A part that a loop inside starts anew by flags would otherwise go around that choice.
    """
    joined = node.inputs[0] if node.operation == "last" and node.inputs else None
    if joined is None or joined.operation != "join":
        return node.inputs
    made = [it for it in joined.inputs if not it.varies <= node.varies]
    began = set(joined.inputs).difference(made)
    inside = sources(made, lambda it: not it.varies <= node.varies)
    return made if began <= inside else node.inputs


def _is_gated(node: Node, source: Node, told: set[Node]) -> bool:
    """Whether flags decide what comes of a source in an operation."""
    if node.operation in _SUMS or node.operation in CELLS:
        return False
    if node.is_key:
        return True  # Random numbers go on as they like.
    if node.operation.startswith("at.") and source is node.inputs[0]:
        return True  # Rows that were written stay where they are.
    return any(other in told for other in node.inputs if other is not source)


def is_statistic(facts: SourceFacts, loop: Loop, node: Node, frame: Frame) -> bool:
    """Whether a part of a carry is called as what is meant to outlive an episode."""
    return not _STATISTICS.isdisjoint(_words(facts, loop, node, frame))


# What a network remembers, and the discounted return up to now.
_MEMORY = frozenset(
    "hidden hstate hstates rnn memory lstm gru recurrent ret return returns".split()
)


def is_hidden(facts: SourceFacts, loop: Loop, node: Node, frame: Frame) -> bool:
    """Whether a part of a carry is called as what only one episode should remember."""
    return not _MEMORY.isdisjoint(_words(facts, loop, node, frame))


def _words(facts: SourceFacts, loop: Loop, node: Node, frame: Frame) -> set[str]:
    """The words of all names of a part of a carry, also of the field that holds it."""
    names = names_of(facts, node, frame)
    if loop.carry_in is not None:
        names |= {name for name, it in named_parts(loop.carry_in) if it is node}
    return {word for name in names for word in words_of(name)}


def has_rows_for(node: Node, flags: set[Node], beside: Iterable[Node] = ()) -> bool:
    """Whether a value may have an element for each of some flags, as far as shapes are known.

    A single number beside arrays is one for all of their rows.
    """
    shapes = [it.shape for it in flags if isinstance(it.shape, tuple)]
    if isinstance(node.shape, tuple) and len(shapes) == len(flags):
        return any(all(size in node.shape for size in shape) for shape in shapes)
    return node.shape != () or not any(it.shape for it in beside)


def is_remembered(loop: Loop, before: Data, after: Data, flags: set[Node], told: set[Node]) -> bool:
    """Whether a part of a carry is what a network remembers, of something else that is reset.

    It is fed back through weights, and flags decide about another part, but not about this one.
    """
    if not goes_through_weights(loop, before.node, after.node):
        return False
    for other, next_one in paired_leaves(loop.carry_in, loop.carry_out):
        if other.node is before.node or next_one.node not in told or next_one.node in flags:
            continue
        is_kept = other.node in behind(next_one)
        if is_kept and feedback_path(next_one.node, other.node, flags, told) is None:
            return next_one.node.operation in _CHOICES
    return False


_CHOICES = SELECTIONS | {"cond", "stack"}


def is_memory(loop: Loop, after: Node) -> bool:
    """Whether weights have a part in what a carry becomes, be it by way of another part of it."""
    return has_weights(loop, behind(Data(after)))


def goes_through_weights(loop: Loop, before: Node, after: Node) -> bool:
    """Whether a value is multiplied by a matrix from outside of a loop on its way to the next."""
    return has_weights(loop, reaching(behind(Data(after)), {before}))


def has_weights(loop: Loop, nodes: set[Node]) -> bool:
    """Whether one of some values is a product with weights in a turn, or made by a cell."""
    return any(
        node.operation in CELLS
        or is_linear(node.operation)
        or (
            node.operation in CONTRACTIONS
            and any(loop.region not in it.varies for it in node.inputs)
        )
        for node in nodes
        if loop.region in node.varies
    )


def is_learned(loop: Loop, node: Node) -> bool:
    """Whether a part of a carry is what multiplies the inputs of a turn: weights, not a state."""
    slices = {leaf.node for leaf in leaves(loop.slices)} if loop.slices is not None else set[Node]()
    return any(
        it.operation in CONTRACTIONS
        and any(_is_part_of(source, {node}) for source in it.inputs)
        and any(_is_part_of(source, slices) for source in it.inputs)
        for it in behind(loop.returned)
    )


def _is_part_of(node: Node, wholes: set[Node]) -> bool:
    while node not in wholes and node.operation in ("field", "item", "lane") and node.inputs:
        node = node.inputs[0]
    return node in wholes


def is_recursion(loop: Loop, path: list[Node]) -> bool:
    """Whether a way from a carry to its next value scales it and adds to it, and no more.

    The cell of a network does that too, by what weights have made in the same turn.
    """
    is_plain = all(it.operation in _PLAIN or it.operation in ("*", "carry") for it in path)
    return is_plain and not has_weights(loop, behind(Data(path[0])))


def flags_inside(loop: Loop, frame: Frame) -> set[Node]:
    """What a body itself calls the end of an episode, also as the last turn has left it.

    What it only counts is how long a row is that was padded: nothing starts there.
    """
    own = {it for _, it in named_ends(frame) if not _is_counted(loop, it)}
    carried = paired_leaves(loop.carry_in, loop.carry_out)
    own |= {before.node for before, after in carried if after.node in own}
    # What a map stacks was a flag for each of its lanes.
    return own | {it for node in own if node.operation == "stack" for it in node.inputs}


def _is_counted(loop: Loop, flag: Node) -> bool:
    """Whether a flag depends on the number of the turn, and on nothing else that a turn gets."""
    made_from = set(flag.ancestors())
    if not made_from.isdisjoint(nodes_of(loop.carry_in or NONE)):
        return False
    taken = [
        whole.node for whole, part in paired_leaves(loop.xs, loop.slices) if part.node in made_from
    ]
    return bool(taken) and all(
        any(it.operation.endswith(".arange") for it in whole.ancestors()) for whole in taken
    )


def flags_below(loop: Loop, frame: Frame) -> set[Node]:
    """What the functions and loops that a body calls know as the end of an episode."""
    frames = {it.frame for it in behind(loop.returned) if it.frame is not None} - {frame}
    return {node for it in frames if it.is_inside(frame) for _, node in named_ends(it)}
