"""Leaves that are put into a structure, and the places that they come from."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from ...events import Fact
from ...facts import SourceFacts
from ...graph import Node, sources
from ...library.flattening import is_none, leaves_in_order
from ...remember import each, walked
from ...values import Data, Mapping, Sequence, Value, sorted_keys

Path = tuple[str, ...]
# Trees of more leaves are not asked where each of them comes from.
_LARGEST = 64


def misplaced(facts: SourceFacts) -> Iterator[tuple[Fact, Path, Path]]:
    """Calls that put the leaves of a tree into its structure in another order.

    Each with the place of a leaf, and the place that what is put there comes from. They are told
    only where every leaf comes from one place, and every place has one leaf.
    """
    put = [it for it in facts.events(Fact) if it.kind == "unflatten" and it.data["tree"]]
    taken = _paths_of_leaves(facts) if put else {}
    for fact in put:
        places = leaves_in_order(fact.data["tree"]) or []
        given = fact.data["args"][1] if len(fact.data["args"]) > 1 else None
        items = given.items if isinstance(given, Sequence) else None
        if items is None or not 1 < len(places) == len(items) <= _LARGEST:
            continue
        paths = list(paths_of(fact.data["tree"]))
        own = _by_node(places, paths)
        for known in (own, taken):
            sources = [it for it in (_only_source(it, known) for it in items) if it is not None]
            if len(sources) < len(items):
                continue
            moved = [it for it in zip(paths, sources, strict=True) if it[0] != it[1]]
            if moved and sorted(sources) == sorted(paths):
                yield fact, *moved[0]
            break
        else:
            yield from ((fact, *it) for it in _by_name(given, paths)[:1])


def _by_name(given: Value | None, paths: list[Path]) -> list[tuple[Path, Path]]:
    """Places in which leaves are put that have the name of another place, if all have names."""
    display = given.syntax if isinstance(given, Sequence) else None
    elements = display.elts if isinstance(display, (ast.List, ast.Tuple)) else []
    keys = {path[-1]: path for path in paths if path and not path[-1].isdigit()}
    meant = [_key_of(it, keys) for it in elements]
    if len(keys) < len(paths) or sorted(meant) != sorted(keys):
        return []
    pairs = zip(paths, (keys[it] for it in meant), strict=True)
    return [it for it in pairs if it[0] != it[1]]


def _key_of(element: ast.expr, keys: Iterable[str]) -> str:
    """The key that an expression has in its name, or under which it takes all that it is made of.

    `decayed(params["scale"], grads["scale"])` is what becomes of `scale`.
    """
    if isinstance(element, ast.Name):
        return max((key for key in keys if is_name_of(element.id, key)), key=len, default="")
    taken = {
        it.slice.value
        for it in walked(element)
        if isinstance(it, ast.Subscript) and isinstance(it.slice, ast.Constant)
    } | {it.attr for it in each(element, ast.Attribute)}
    found = [key for key in keys if key in taken]
    return found[0] if len(found) == 1 else ""


def is_name_of(name: str, key: str) -> bool:
    """Whether a name is that of a key, or of a new version of it: `new_scale`."""
    return name == key or name.endswith(f"_{key}") or name.startswith(f"{key}_")


def made_from(lists: Iterable[Value], taken: Iterable[Fact]) -> Iterator[Fact]:
    """Leaves that a list is computed from one by one: `[p - rate * g for p, g in zip(…)]`."""
    known = [(it, _nodes(it.data["result"])) for it in taken]
    all_leaves = {node for _, nodes in known for node in nodes}
    for made in map(_nodes, lists) if all_leaves else ():
        if len(made) < 2 or not all_leaves.isdisjoint(made):
            continue
        reached = [sources([it], lambda node: node not in all_leaves) for it in made]
        for fact, nodes in known:
            own = [[it for it in nodes if it in found] for found in reached]
            if len(nodes) == len(made) and own == [[it] for it in nodes]:
                yield fact


def _nodes(value: Value) -> list[Node]:
    """What a list holds, if it is data alone, each once."""
    items = value.items if isinstance(value, Sequence) else None
    found = [it.node for it in items or () if isinstance(it, Data)]
    return found if items and len(set(found)) == len(items) else []


def _paths_of_leaves(facts: SourceFacts) -> dict[Node, Path]:
    """Where the leaves that were taken from trees are in these."""
    found: dict[Node, Path] = {}
    for fact in facts.events(Fact):
        if fact.kind == "leaves":
            tree = fact.data["tree"]
            for node, path in _by_node(leaves_in_order(tree) or [], paths_of(tree)).items():
                found.setdefault(node, path)
    return found


def _by_node(leaves: list[Value], paths: Iterable[Path]) -> dict[Node, Path]:
    pairs = zip(leaves, paths, strict=False)
    return {leaf.node: path for leaf, path in pairs if isinstance(leaf, Data)}


def _only_source(value: Value, known: dict[Node, Path]) -> Path | None:
    """The place of the one leaf that something is computed from."""
    if not isinstance(value, Data):
        return None
    found = {known[node] for node in value.node.ancestors() if node in known}
    return found.pop() if len(found) == 1 else None


def paths_of(tree: Value, path: Path = ()) -> Iterator[Path]:
    """The way to each leaf, in the order of these."""
    if isinstance(tree, Sequence):
        items = tree.items or ()
        numbers = map(str, range(len(items)))
        names = list(tree.type.fields if tree.type is not None else numbers)
        for name, item in zip(names, items, strict=False):
            yield from paths_of(item, (*path, name))
    elif isinstance(tree, Mapping):
        for key in sorted_keys(tree):
            yield from paths_of(tree.items[key], (*path, str(key)))
    elif not is_none(tree):
        yield path
