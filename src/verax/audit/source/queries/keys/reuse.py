"""Random keys: where one key serves for several draws."""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING

from ....finding import Place
from ...classes import base_names
from ...events import Applied, Event, KeyUse, Mutation
from ...frame import Region
from ...graph import Node, sources
from ...remember import remembered, walked
from ...text import text_of
from ...values import Constant, Sequence, nodes_of
from ..boundaries import DIFFERENTIATED
from ..exclusion import exclude_each_other
from ..handing import handed_in_at, is_key
from ..loops.bodies import calls, is_within
from ..syntax import statement_around, statements_in

if TYPE_CHECKING:
    from ...facts import SourceFacts

LOOPS = frozenset(("scan", "while_loop", "fori_loop", "map", "loop"))
MAPS = frozenset(("vmap", "pmap"))
# A part of a key, or a key made from one: the same whenever its source and its index are.
_PARTS = frozenset(("item", "element", "field", "jax.random.fold_in", "primal"))
# What a turn or a lane has of an array of keys.
_TAKEN = _PARTS | {"turn", "slice", "lane"}
# What a loop inside of a map has made of a key: lanes that begin alike go on alike.
_LATER = frozenset(("carry", "turn"))
# What a loop or map inside of a loop gets: it begins alike in each turn that gives it the same.
_BEGUN = frozenset(("slice", "lane", "carry"))
# Nothing that is computed in there is computed when the program runs.
ABSTRACT = frozenset(("eval_shape", "make_jaxpr"))


def repeated(facts: SourceFacts, kinds: frozenset[str]) -> Iterator[tuple[KeyUse, Region]]:
    """Uses of a key in loops or maps of some kinds in which it is the same every time.

    Only where the key comes from outside of the loop is that certain: what is made inside may
    change in ways that are not seen. What is drawn from its children repeats too, and is not told
    again.
    """
    told: set[tuple[Node, Region]] = set()
    for use in uses(facts):
        for region in use.region.chain() if use.region is not None else ():
            if region.kind in ABSTRACT:
                break
            if not use.is_certain and region.kind == "loop" and not _is_one_process(use, region):
                continue
            if region.kind in kinds and comes_from_outside(use.key.node, region):
                told.add((use.key.node, region))
                if not any((it, region) in told for it in parents(use.key.node)):
                    yield use, region


def parents(node: Node) -> Iterator[Node]:
    """The keys that a key was split from, one after the other."""
    while node.operation in _TAKEN or node.operation == "jax.random.split":
        if not node.inputs:
            return
        is_split, node = node.operation == "jax.random.split", node.inputs[0]
        if is_split:
            yield node


def uses(facts: SourceFacts) -> Iterator[KeyUse]:
    """All uses of what is a key for certain, or is called one."""
    for use in facts.events(KeyUse):
        if use.is_certain or use.key.node.is_key or facts.name_of(use.key).endswith("key"):
            yield use


def counts(region: Region) -> bool:
    """Whether a loop of Python's counts, or goes on while something holds.

    One over other things may start each of them from the same key on purpose.
    """
    iterated = region.details.get("iterated")
    return iterated is None or (isinstance(iterated, Sequence) and iterated.kind == "range")


def _is_one_process(use: KeyUse, region: Region) -> bool:
    """Whether the turns of a loop with a key in it belong together, each going on from the last."""
    if counts(region):
        return True
    loop: ast.AST = region.details["syntax"]
    within = set(map(id, walked(loop)))
    for frame, syntax in calls(use):
        statement = statement_around(frame, syntax) if id(syntax) in within else None
        if isinstance(statement, ast.Assign):
            names = {text_of(it) for it in walked(statement.value) if isinstance(it, _PLACES)}
            return any(text_of(it) in names for it in _parts_of(statement.targets[0]))
    return False


_PLACES = (ast.Name, ast.Attribute)


def _parts_of(target: ast.expr) -> list[ast.expr]:
    """What an assignment sets."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def comes_from_outside(node: Node, region: Region) -> bool:
    """Whether a key is known to be the same in all turns or lanes of a region."""
    if region in node.varies:
        return copies_behind(node, region) is not None
    if node.operation == "join":
        return bool(node.inputs) and all(comes_from_outside(it, region) for it in node.inputs)
    if not node.is_made_in(region):
        return True
    # A loop of Python's may well begin with the same keys on purpose, to evaluate what is trained.
    through = _PARTS if region.kind == "loop" else _PARTS | _BEGUN
    if node.operation in through and node.inputs:
        return comes_from_outside(node.inputs[0], region)
    return False


def copies_behind(node: Node, region: Region) -> Node | None:
    """The array of which each turn or lane has a share, if that is one key several times."""
    while node.operation in _LATER and region.kind in MAPS and region in node.inputs[0].varies:
        node = node.inputs[0]
    if node.operation not in ("lane", "slice", "turn"):
        return None
    shared = node.inputs[0]
    # Copies that a turn makes are of a key of its own, whatever its lanes have in common.
    return shared if region not in shared.varies and are_copies(shared) else None


def copied_at(copies: Node) -> Place | None:
    """Where somebody has copies made of a key, by however many functions."""
    if copies.syntax is None or copies.frame is None:
        return None
    return handed_in_at(Event(copies.syntax, copies.frame), is_key(*copies.inputs))


def line_to_outside(node: Node, region: Region) -> list[Node]:
    """A key that is the same in all turns of a region, and what it is made from there."""
    line = [node]
    while node.operation in _PARTS | _BEGUN and node.inputs and node.is_made_in(region):
        node = node.inputs[0]
        line.append(node)
    return line


def begun_by(use: KeyUse, line: list[Node]) -> Event:
    """The use of a key, or the loop inside that begins with it and goes on with what it makes."""
    begun = [it for it in line if it.operation == "carry"]
    if not begun or begun[-1].syntax is None or begun[-1].frame is None:
        return use
    return Event(begun[-1].syntax, begun[-1].frame)


_COPIES = frozenset(("jax.numpy.broadcast_to", "jax.numpy.tile", "jax.numpy.repeat"))
_STACKS = frozenset(("jax.numpy.stack", "jax.numpy.asarray"))


def are_copies(node: Node) -> bool:
    """Whether an array of keys is one key several times."""
    if node.operation == "copy":
        return True
    if node.operation in _COPIES:
        return bool(node.inputs) and node.inputs[0].operation not in ("jax.random.split", "stack")
    inputs = node.inputs
    if node.operation not in _STACKS or not inputs or len(set(inputs)) != 1:
        return False
    return len(inputs) > 1 or all(it.operation == "copy" for it in inputs)


def is_stored_anew(facts: SourceFacts, own: set[Node], region: Region) -> bool:
    """Whether a loop puts something else where some nodes come from.

    `self.key, sub = split(self.key)` advances a key without a name for it, and `self.step += 1` the
    number that is folded into one.
    """
    stored = [
        it.before
        for it in facts.events(Mutation)
        if it.before is not None and is_within(it, region)
    ]
    numbers = [it for key in own for it in _numbers_of(key)]
    nodes = {it for value in stored for it in nodes_of(value)}
    if not nodes.isdisjoint((*own, *sources(it for it in numbers if isinstance(it, Node)))):
        return True
    # A number that an object holds is known as it is in the first turn.
    is_counting = any(isinstance(it, Constant) and type(it.value) is int for it in stored)
    return is_counting and None in numbers


def is_counted(facts: SourceFacts, key: Node) -> bool:
    """Whether a key is made from a number that a loop of Python's around it advances."""
    around = key.region.chain() if key.region is not None else ()
    return any(it.kind == "loop" and is_stored_anew(facts, {key}, it) for it in around)


def _numbers_of(key: Node) -> Iterator[Node | None]:
    """What a key was made by besides other keys; none for a number that is known, but not there."""
    while True:
        is_made = key.operation == "jax.random.key"
        if is_made or key.operation == "jax.random.fold_in":
            call, numbers = key.syntax, key.inputs[not is_made :]
            yield from numbers
            given = call.args[not is_made :] if isinstance(call, ast.Call) else []
            if not numbers and not all(isinstance(it, ast.Constant) for it in given):
                yield None
        if not key.inputs or key.operation not in _TAKEN | {"jax.random.split"}:
            return
        key = key.inputs[0]


def is_advanced_by(facts: SourceFacts, use: KeyUse) -> bool:
    """Whether the function that uses a key puts another one in its place: `self.key, sub = …`."""
    return any(
        it.frame is use.frame and it.before is not None and use.key.node in nodes_of(it.before)
        for it in facts.events(Mutation)
    )


def is_argument(facts: SourceFacts, key: Node, region: Region) -> bool:
    """Whether a key is given to a mapped function, so that its axes say that lanes share it."""
    for applied in facts.events(Applied):
        if applied.region is region:
            given = [*applied.args, *applied.keywords.values()]
            return any(key is node for value in given for node in nodes_of(value))
    return False


def runs_once(use: KeyUse, region: Region) -> bool:
    """Whether a loop of Python's is left right after the use, or gets there in one turn only."""
    loop: ast.AST | None = region.details.get("syntax")
    if not isinstance(loop, (ast.For, ast.While)):
        return False
    wanted = {id(syntax) for _, syntax in calls(use)}
    body = loop.body
    while True:
        if isinstance(body[-1], (ast.Return, ast.Break, ast.Raise)):
            return True
        inner = next((it for it in body if any(id(n) in wanted for n in walked(it))), None)
        blocks = [getattr(inner, name, None) for name in ("body", "orelse", "finalbody")]
        found = next(
            (
                block
                for block in blocks
                if isinstance(block, list)
                and any(id(n) in wanted for it in block for n in walked(it))
            ),
            None,
        )
        if not found or isinstance(inner, (ast.FunctionDef, ast.Lambda)):
            return False
        if isinstance(inner, ast.If) and found is inner.body and _asks_for_turn(inner.test, loop):
            return True
        body = found


def _asks_for_turn(test: ast.expr, loop: ast.For | ast.While) -> bool:
    """Whether a condition holds in one turn of a loop: `i == 0`."""
    turn = text_of(loop.target) if isinstance(loop, ast.For) else ""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.Eq):
        return False
    return turn in (text_of(test.left), text_of(test.comparators[0]))


def is_abstract(region: Region | None) -> bool:
    """Whether what runs there is only asked for its shapes."""
    return region is not None and any(it.kind in ABSTRACT for it in region.chain())


def made_from(key: Node, but: Container[Node] = ()) -> set[Node]:
    """A key and what it is made from, up to where a value of the program's chooses which.

    What keys `but` this one are made from is left out, where all of them are known already.
    """
    return sources((key,), lambda it: it.operation not in _CHOSEN or len(it.inputs) < 2, but)


# With a second input, that is not known until the program runs.
_CHOSEN = frozenset(("jax.random.fold_in", "item"))


def made_from_constant(node: Node) -> bool:
    """Whether a key is made from a number that the program holds."""
    return node.operation == "jax.random.key" and bool(node.label)


def loop_without_seed(facts: SourceFacts, node: Node) -> Region | None:
    """The loop that makes a key anew in each turn, from a seed that is the same in all of them."""
    if node.operation != "jax.random.key" or len(node.inputs) != 1:
        return None
    seed = node.inputs[0]
    for region in node.region.chain() if node.region is not None else ():
        if region.kind not in LOOPS or (region.kind == "loop" and not counts(region)):
            continue
        if comes_from_outside(seed, region) and not is_stored_anew(facts, {seed}, region):
            return region
    return None


def constant_in(node: Node) -> str | None:
    """Inside of what a constant key is made anew, all the same: a transformation or a loop."""
    for region in node.region.chain() if node.region is not None else ():
        if region.kind in ("jit", "pmap", "scan", "fori_loop", "while_loop"):
            return region.kind
        if region.kind == "loop" and counts(region):
            return "loop"
    return None


@remembered
def in_defaults(module: ast.AST) -> set[ast.AST]:
    """All syntax in the defaults of parameters of a module's functions, and of fields."""
    found: set[ast.AST] = set()
    for node in statements_in(module):
        if isinstance(node, ast.ClassDef):
            fields = [it for it in node.body if isinstance(it, ast.AnnAssign)]
            found.update(it for field in fields if field.value for it in walked(field.value))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for default in (*node.args.defaults, *node.args.kw_defaults):
                if default is not None:
                    found.update(walked(default))
    return found


def name_at(facts: SourceFacts, use: KeyUse, place: Place) -> str:
    """What to call a used key at a place: as it is written there, or by where it comes from."""
    syntax = use.syntax
    if isinstance(syntax, ast.Call) and use.place == place:
        named = [it.value for it in syntax.keywords if it.arg in ("key", "seed", "rng")]
        written = (*syntax.args[:1], *named) if use.by.startswith("jax.random.") else tuple(named)
        if written and isinstance(written[0], (ast.Name, ast.Attribute, ast.Subscript)):
            return text_of(written[0])
    return facts.name_of(use.key)


_FROZEN = frozenset(("equinox.Module", "flax.struct.PyTreeNode", "typing.NamedTuple"))


def is_function_of_object(facts: SourceFacts, use: KeyUse, before: KeyUse) -> bool:
    """Whether one line of a method uses a key that its object holds for good.

    Such an object stands for one random thing, a Brownian path say, that may be asked repeatedly.
    """
    if use.syntax is not before.syntax:
        return False
    node = use.key.node
    while node.operation in _PARTS and node.operation != "field" and node.inputs:
        node = node.inputs[0]
    owner = node.inputs[0] if node.operation == "field" and node.inputs else None
    cls = next((it for it in facts.record.classes if owner and it.syntax is owner.syntax), None)
    return cls is not None and not _FROZEN.isdisjoint(base_names(cls))


def is_copied(before: KeyUse, use: KeyUse) -> bool:
    """Whether two equal calls of `init` give a network and its copy, a target say, on purpose."""
    if before.by != use.by or not (before.by.endswith("init") or _in_init(before)):
        return False
    others = dict(calls(use))
    for frame, one in calls(before):
        other = others.get(frame)
        if other is not None:
            are_calls = isinstance(one, ast.Call) and isinstance(other, ast.Call)
            return are_calls and ast.dump(one) == ast.dump(other)
    return False


def _in_init(use: KeyUse) -> bool:
    """Whether a method draws that an object has for its beginning: `critic.init(key, x)`."""
    functions = [it.func for _, it in calls(use) if isinstance(it, ast.Call)]
    return any(isinstance(it, ast.Attribute) and it.attr == "init" for it in functions)


def is_evaluated_again(before: KeyUse, use: KeyUse) -> bool:
    """Whether a function runs in both, differentiated in one: that has to draw the same numbers."""
    if use.syntax is not before.syntax:
        return False
    one, other = _derivatives(before), _derivatives(use)
    return any(one[it] != other[it] for it in one.keys() & other.keys())


def _derivatives(use: KeyUse) -> dict[ast.AST, list[str]]:
    """The functions around a use, with the derivatives that their callers take of them.

    What a lambda calls is differentiated with it: it is there to give arguments.
    """
    found: dict[ast.AST, list[str]] = {}
    around: set[Region] = set()
    for frame in reversed(list(use.frame.callers())):
        if frame.function is None:
            continue
        own = list(frame.region.chain()) if frame.region is not None else []
        found[frame.function] = [
            it.kind for it in own if it.kind in DIFFERENTIATED and it not in around
        ]
        if not isinstance(frame.function, ast.Lambda):
            around = set(own)
    return found


def excluded(before: KeyUse, use: KeyUse) -> bool:
    """Whether conditions keep two uses from happening both."""
    others = dict(calls(use))
    for frame, syntax in calls(before):
        other = others.get(frame)
        if other is not None:
            return exclude_each_other(frame, syntax, other)
    return False
