"""Leaves that are unpacked under the names of others."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Place, Severity
from ...source.events import Call, Fact
from ...source.graph import Node
from ...source.queries.forwarding import taken_at
from ...source.queries.short_names import stood_for
from ...source.queries.structures.cutting import wrong_pieces
from ...source.queries.structures.placing import made_from, misplaced
from ...source.shapes.dims import show
from ...source.text import text_of
from ...source.values import Data, Mapping, Value, nodes_of, words_of
from ...source.values import Sequence as Tuple
from ...trace.facts import Facts
from ...trace.sources import Statement
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.facts import SourceFacts


# They cut an array into pieces, in order.
_CUTS = frozenset(("jax.numpy.split", "jax.numpy.array_split", "jax.numpy.reshape", "item"))


def check(facts: Facts) -> Iterator[Finding]:
    """Lines that unpack leaves under names of the tree's keys, but in another order."""
    for seen in facts.traced.observations:
        if seen.kind != "leaf order" or seen.place is None:
            continue
        keys = seen.data.keys
        found = next(_unpackings(facts, seen.place), None)
        if found is None:
            continue
        statement, names = found
        meant = stood_for(names, keys)
        if not meant or tuple(meant) == keys:
            continue
        yield RULE.finding(
            Place(seen.place.file, statement.line, 1, seen.place.function),
            current=f"`{statement.text}` names the leaves "
            f"({', '.join(names)}), but `{seen.data.function}` gives them as ({', '.join(keys)})",
            expected="leaves come in the order of the tree: keys of a dict are sorted",
            fix="Take them from the tree by key: "
            + ", ".join(map("`{}` at {!r}".format, names[:3], meant[:3]))
            + ".",
        )


def _unpackings(facts: Facts, place: Place) -> Iterator[tuple[Statement, Sequence[str]]]:
    """Statements that give names to single leaves: at a call, or of the list that it made."""
    statement = facts.sources.statement(place)
    if statement is None:
        return
    names = _unpacked(statement.text)
    if names:
        yield statement, names
        return
    for kept in statement.targets[:1]:
        for later in facts.sources.rest_of_function(place):
            names = _unpacked(later.text, kept)
            if names:
                yield later, names


def _unpacked(text: str, of: str = "") -> Sequence[str]:
    """The names that a statement gives to single leaves: `a, b = …` or `(a, b), tree = …`."""
    try:
        node = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        return ()
    if not isinstance(node, ast.Assign):
        return ()
    value = node.value
    right = isinstance(value, ast.Name) and value.id == of if of else isinstance(value, ast.Call)
    if not right:
        return ()
    target = node.targets[0]
    if isinstance(target, (ast.Tuple, ast.List)) and target.elts:
        inner = target.elts[0]
        if isinstance(inner, (ast.Tuple, ast.List)):
            target = inner
        return [it.id for it in target.elts if isinstance(it, ast.Name)]
    return ()


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Leaves of a dict or named tuple that get the name of another one."""
    yield from _zipped(facts)
    yield from _put_elsewhere(facts)
    yield from _cut_elsewhere(facts)
    told: set[ast.stmt] = set()
    for fact in facts.events(Fact):
        if fact.kind != "leaves":
            continue
        keys = _keys(fact.data["tree"])
        owners = _owners(fact.data["tree"], keys)
        frame, _ = taken_at(fact.frame, fact.syntax)
        for statement, value in frame.steps if len(owners) > 1 else ():
            if not isinstance(statement, ast.Assign) or statement in told:
                continue
            for target in statement.targets:
                name, key, meant = _misnamed(target, value, owners) or ("", "", "")
                if not name or repr(key) in text_of(statement):
                    continue
                told.add(statement)
                yield RULE.finding(
                    frame.place(statement),
                    current=f"`{text_of(statement)}` gives the leaf of {key!r} the name "
                    f"`{name}`: the leaves come as ({', '.join(keys)})",
                    expected="leaves come in the order of the tree: keys of a dict are sorted",
                    fix=f"Take them from the tree by key: `{name}` at {meant!r}.",
                    evidence=(Evidence("the leaves are taken here", fact.place),),
                    engine=Engine.SOURCE,
                )


def _put_elsewhere(facts: SourceFacts) -> Iterator[Finding]:
    """Leaves that are put together to a tree in which they have changed places."""
    for fact, place, source in misplaced(facts):
        yield RULE.finding(
            fact.place,
            current=f"`{fact.text}` puts what comes from the leaf `{'.'.join(source)}` in the "
            f"place of `{'.'.join(place)}`",
            expected="leaves go back to where they were taken from",
            fix="Take structure and leaves of one tree with `jax.tree.flatten`, and keep the "
            "leaves in that order.",
            engine=Engine.SOURCE,
        )


def _cut_elsewhere(facts: SourceFacts) -> Iterator[Finding]:
    """Pieces of a tree's vector that are taken for leaves whose numbers are elsewhere in it."""
    for piece, leaf, start, stop, call in wrong_pieces(facts):
        place, syntax = piece.made.place, piece.made.syntax
        if place is None or syntax is None:
            continue
        yield RULE.finding(
            place,
            current=f"`{text_of(syntax)}` is taken for the leaf `{'.'.join(leaf)}`, "
            f"whose numbers are those from {show(start)} to {show(stop)}",
            expected="`ravel_pytree` puts the leaves one after another in the order of the tree: "
            "keys of a dict are sorted",
            fix="Make the tree with the second result of `jax.flatten_util.ravel_pytree`, and take "
            "the leaves by key.",
            evidence=(Evidence("the vector is made here", call.place),),
            engine=Engine.SOURCE,
        )


def _zipped(facts: SourceFacts) -> Iterator[Finding]:
    """Leaves that meet the keys of their dict in the order in which these were written."""
    taken = {id(it.data["result"]): it for it in facts.events(Fact) if it.kind == "leaves"}
    flat = {
        node: call
        for call in facts.calls(("jax.flatten_util.ravel_pytree",))
        for node in nodes_of(call.result)
    }
    for fact in facts.events(Fact) if taken or flat else ():
        parts: list[Value] = fact.data["parts"] if fact.kind == "zip" else []
        sources = [(taken[id(it)].data["tree"], taken[id(it)]) for it in parts if id(it) in taken]
        sources += [(it.args[0], it) for it in _cut_from(parts, flat) if it.args]
        sources += [(it.data["tree"], it) for it in made_from(parts, taken.values())]
        for tree, leaves in sources:
            keys = sorted(map(str, tree.items)) if isinstance(tree, Mapping) else _fields(tree)
            same = [it for it in parts if sorted(_names(it)) == sorted(keys) != []]
            other = next((it for it in same if _names(it) != keys), None)
            if other is not None and not (isinstance(tree, Mapping) and tree.is_open):
                written = _names(other)
                yield RULE.finding(
                    _written_at(other) or fact.place,
                    current=f"`{fact.text}` pairs the keys ({', '.join(written)}) with leaves that "
                    f"come as ({', '.join(keys)})",
                    expected="leaves come in the order of the tree: keys of a dict are sorted",
                    fix="Take key and value together from the dict, or sort the keys, which is "
                    "the order of the leaves.",
                    evidence=(Evidence("the leaves are taken here", leaves.place),),
                    engine=Engine.SOURCE,
                )
                break


def _cut_from(parts: list[Value], flat: dict[Node, Call]) -> Iterator[Call]:
    """The calls that have made one array of a tree, of which something is a part."""
    pending = [node for part in parts for node in nodes_of(part) if node.operation in _CUTS]
    seen: set[Node] = set()
    while pending and flat:
        node = pending.pop()
        if node in flat:
            yield flat[node]
        # What a function makes of the array, a tree of it perhaps, has an order of its own.
        elif node not in seen and node.operation != "call":
            seen.add(node)
            pending.extend(node.inputs)


def _names(value: Value) -> list[str]:
    """The words that something is a list of, or the keys in whose order it goes through a dict."""
    display, items = (value.syntax, value.items) if isinstance(value, Tuple) else (None, None)
    if isinstance(display, (ast.List, ast.Tuple)) and items and isinstance(items[0], Data):
        return _names_taken(display.elts)
    return words_of(value) or []


def _written_at(value: Value) -> Place | None:
    """Where parts of something are listed by name."""
    if not isinstance(value, Tuple) or value.made_in is None or value.syntax is None:
        return None
    is_list = bool(value.items) and isinstance(value.items[0], Data)
    return value.made_in.place(value.syntax) if is_list else None


def _names_taken(elements: list[ast.expr]) -> list[str]:
    """The names under which parts of one thing are taken: `[g["w"], g["b"]]`, `(g.w, g.b)`."""
    wholes = {text_of(getattr(it, "value", it)) for it in elements}
    names: list[str] = []
    for it in elements:
        index = it.slice if isinstance(it, ast.Subscript) else None
        if isinstance(index, ast.Constant) and isinstance(index.value, str):
            names.append(index.value)
        elif isinstance(it, ast.Attribute):
            names.append(it.attr)
    return names if len(wholes) == 1 and len(names) == len(elements) else []


def _fields(tree: Value) -> list[str]:
    """The names of a named tuple's fields, in order."""
    return list(tree.type.fields) if isinstance(tree, Tuple) and tree.type is not None else []


def _owners(tree: Value, keys: list[str]) -> dict[Node, str]:
    """Each leaf with its key; none if two keys hold the same one."""
    items = tree.items if isinstance(tree, (Mapping, Tuple)) else None
    values = list(items.values() if isinstance(items, dict) else items or ())
    names = list(map(str, items)) if isinstance(items, dict) else keys
    found = {
        value.node: name
        for name, value in zip(names, values, strict=False)
        if isinstance(value, Data)
    }
    return found if len(found) == len(keys) else {}


def _misnamed(
    target: ast.expr, value: Value, owners: dict[Node, str]
) -> tuple[str, str, str] | None:
    """A name of one leaf that is given to another: the name, whose leaf that is, and its own."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, Tuple):
        pairs = list(zip(target.elts, value.items or (), strict=False))
        for inner, item in pairs:
            found = _misnamed(inner, item, owners)
            if found is not None:
                return found
        return _short_names_of_others(pairs, owners)
    if not isinstance(target, ast.Name) or not isinstance(value, Data):
        return None
    key, name = owners.get(value.node, target.id), target.id
    return (name, key, name) if key != name and name in owners.values() else None


def _short_names_of_others(
    pairs: list[tuple[ast.expr, Value]], owners: dict[Node, str]
) -> tuple[str, str, str] | None:
    """The same for all leaves at once, by names that are short for the keys."""
    names = [target.id for target, _ in pairs if isinstance(target, ast.Name)]
    keys = [owners.get(value.node, "") for _, value in pairs if isinstance(value, Data)]
    if len(pairs) != len(owners) or sorted(keys) != sorted(owners.values()):
        return None
    told = zip(names, keys, stood_for(names, keys), strict=False)
    return next((it for it in told if it[1] != it[2]), None)


def _keys(tree: Value) -> list[str]:
    """The keys of a flat tree, in the order of its leaves."""
    if isinstance(tree, Mapping):
        is_flat = not tree.is_open and all(isinstance(it, Data) for it in tree.items.values())
        return sorted(map(str, tree.items)) if is_flat else []
    if isinstance(tree, Tuple) and tree.type is not None:
        return list(tree.type.fields)
    return []


RULE = Rule(
    code="PT102",
    name="leaves-in-other-order",
    title="Leaves unpacked in another order",
    family="pytree",
    severity=Severity.CRITICAL,
    explanation="""\
The leaves of a dict come sorted by key, however it was written. Unpacking them under the names of
the keys in another order swaps arrays, and nothing complains if their shapes agree. So does cutting
the vector that `ravel_pytree` makes of the tree by hand.
""",
    wrong="""\
import jax
import jax.numpy as jnp

def entry(params, x):
    scale, offset = jax.tree.leaves(params)
    return scale * x + offset

def inputs():
    return {"scale": jnp.ones(3), "offset": jnp.zeros(3)}, jnp.ones((2, 3))
""",
    right="""\
import jax
import jax.numpy as jnp

def entry(params, x):
    offset, scale = jax.tree.leaves(params)
    return scale * x + offset

def inputs():
    return {"scale": jnp.ones(3), "offset": jnp.zeros(3)}, jnp.ones((2, 3))
""",
    trace=check,
    source=check_source,
)
