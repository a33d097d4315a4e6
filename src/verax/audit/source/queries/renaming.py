"""What would fit if an operation had left another axis in some place: names, followed from there.

Names of axes are the names of sizes, so that a program with another choice at one operation is the
same program with two names exchanged in all that is made from it. What met there and was fine has
to be fine still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ..axes import names_of
from ..events import Fact
from ..graph import Node
from ..operations import CONTRACTIONS, REDUCTIONS, bare
from ..remember import remembered
from ..shapes.names import name_of
from ..values import Data, nodes_of
from .loops.maps import applied_maps, mapped_axes
from .nodes import stacked_over, users_of

if TYPE_CHECKING:
    from ..facts import SourceFacts
    from ..frame import Frame, Region

_Names = dict[str, str]
_CONTRACTIONS = bare(CONTRACTIONS) | {"contraction"}
_MOST = 2000
# As many may have to be changed with one another.
_TOGETHER = 3


def mended_by(facts: SourceFacts, node: Node, name: str, other: str) -> frozenset[Fact]:
    """The clashes that there would not be, had an operation left another axis in place of one.

    None, if something that fits would not fit any more.
    """
    region = _entered(node)
    if region is not None and _maps_more(facts, region, name_of(region.details.get("size"))):
        return frozenset()
    exchanged = {name: other, other: name}
    start = {node: _own(node, exchanged)}

    def is_left(user: Node) -> bool:
        return user not in start

    for _ in range(_TOGETHER):
        misfits: list[Node] = []
        mended = _mended(facts, start, is_left, region, misfits)
        # What makes the same choice for something beside it goes with it.
        alike = {it for made in misfits for it in _made_alike(node, made, name)} - set(start)
        if not alike:
            return mended
        start.update({it: _own(it, exchanged) for it in alike})
    return frozenset()


def _made_alike(node: Node, made: Node, name: str) -> Iterator[Node]:
    """The operations of a kind, in one function, that made what does not fit any more."""
    for it in made.inputs:
        source: Node | None = it
        for _ in range(_MOST):
            if source is None or name not in names_of(source.shape):
                break
            if source is not node and source.frame is node.frame and _kind(source) == _kind(node):
                yield source
                break
            source = with_axis(source.inputs, name)


def _kind(node: Node) -> str:
    operation = node.operation.rpartition(".")[2]
    return "reduction" if operation in REDUCTIONS else operation


def mended_by_swapping(
    facts: SourceFacts, frame: Frame, first: Node, second: Node
) -> frozenset[Fact]:
    """The clashes in a call that there would not be, had it got two arguments in another order."""
    names, others = names_of(first.shape), names_of(second.shape)
    start = {
        first: dict(zip(names, others, strict=True)),
        second: dict(zip(others, names, strict=True)),
    }
    return _mended(facts, start, lambda user: _is_in(user, frame), None, [])


def _is_in(node: Node, frame: Frame) -> bool:
    return node.frame is not None and any(it is frame for it in node.frame.callers())


def _mended(
    facts: SourceFacts,
    start: dict[Node, _Names],
    follows: Callable[[Node], bool],
    region: Region | None,
    misfits: list[Node],
) -> frozenset[Fact]:
    """The clashes that there would not be; none if something would not fit any more: `misfits`."""
    renamed = _followed(facts, start, follows, region)
    users, clashes = users_of(facts), _clashes(facts)
    mended: set[Fact] = set()
    for made in {user for it in renamed for user in users.get(it, ()) if follows(user)}:
        if made in clashes:
            mended.update(it for it in clashes[made] if _is_mended(it, renamed))
        elif _targets(made.inputs, renamed) is None:
            misfits.append(made)
    return frozenset() if misfits else frozenset(mended)


@remembered
def _clashes(facts: SourceFacts) -> dict[Node, list[Fact]]:
    """Where names meet, by what they are made to there."""
    found: dict[Node, list[Fact]] = {}
    for fact in facts.events(Fact):
        result = fact.data.get("result") if fact.kind == "clash" else None
        if isinstance(result, Data):
            found.setdefault(result.node, []).append(fact)
    return found


def _followed(
    facts: SourceFacts,
    start: dict[Node, _Names],
    follows: Callable[[Node], bool],
    region: Region | None,
) -> dict[Node, _Names]:
    """All that is made from some nodes, with the names that would be others there."""
    users, clashes = users_of(facts), _clashes(facts)
    renamed, pending = dict(start), list(start)
    while pending and len(renamed) < _MOST:
        for user in users.get(pending.pop(), ()):
            if any(not _is_mended(it, renamed) for it in clashes.get(user, ())):
                continue
            targets = _targets(user.inputs, renamed) or {}
            if user in clashes:
                targets = _after_clash(clashes[user], user, renamed)
            if region is not None and stacked_over(user) is region:
                targets |= _lanes_instead(region, start)
            made = _own(user, targets)
            if made and renamed.get(user) != made and follows(user):
                renamed[user] = made
                pending.append(user)
    return renamed


def _after_clash(clashes: list[Fact], made: Node, renamed: dict[Node, _Names]) -> _Names:
    """What names would be in what is made where two of them would not clash any more.

    Both are there by now, of which one is as it should be; a product has summed them.
    """
    summed = {name for it in clashes if is_contraction(it) for name in it.data["names"]}
    names = [both for it in made.inputs for both in renamed.get(it, {}).items()]
    return {name: to for name, to in names if name not in summed}


def is_contraction(clash: Fact) -> bool:
    """Whether two axes meet in a product that sums them."""
    return clash.data["where"].rpartition(".")[2] in _CONTRACTIONS


def _lanes_instead(region: Region, start: dict[Node, _Names]) -> _Names:
    """What the lanes of a map would be, had they been taken along the axis that is left instead."""
    lanes = name_of(region.details.get("size"))
    instead = [name for names in start.values() for name, to in names.items() if to == lanes]
    return {lanes: instead[0]} if instead else {}


def _own(node: Node, targets: _Names) -> _Names:
    names = names_of(node.shape)
    return {it: to for it, to in targets.items() if it in names and it != to}


def _targets(inputs: Iterable[Node], renamed: dict[Node, _Names]) -> _Names | None:
    """What each name of some arrays would be; `None` if one would be two that meet."""
    found: _Names = {}
    for node in inputs:
        for name in filter(None, names_of(node.shape)):
            to = renamed.get(node, {}).get(name, name)
            if found.setdefault(name, to) != to:
                return None
    return found


def _is_mended(clash: Fact, renamed: dict[Node, _Names]) -> bool:
    """Whether the two names of a clash would be one."""
    one, other = clash.data["names"]
    arrays = [node for it in clash.data["operands"] for node in nodes_of(it)]
    first, second = with_axis(arrays, one), with_axis(reversed(arrays), other)
    if first is None or second is None:
        return False
    return renamed.get(first, {}).get(one, one) == renamed.get(second, {}).get(other, other)


def with_axis(nodes: Iterable[Node], name: str) -> Node | None:
    """The first of some arrays that has an axis of a name."""
    return next((node for node in nodes if name in names_of(node.shape)), None)


def _entered(node: Node) -> Region | None:
    """The map of which a node is what one lane gets."""
    if node.operation != "lane" or not node.inputs:
        return None
    return next(iter(node.varies - node.inputs[0].varies), None)


def _maps_more(facts: SourceFacts, region: Region, over: str) -> bool:
    """Whether several arguments are mapped along an axis, of which one alone cannot be another."""
    for event in applied_maps(facts):
        if event.region is region:
            return [name for _, _, name in mapped_axes(event)].count(over) > 1
    return False
