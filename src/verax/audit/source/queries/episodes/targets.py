"""Targets of values: a reward, and a discounted estimate of what comes after.

Which number is the reward and which one discounts is told by names; what is made from what by the
flow of data.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ....words import is_episode_end, is_observation, is_reward, words_of
from ...classes import all_fields
from ...frame import Frame
from ...graph import Node
from ...operations import CONTRACTIONS, FULLS, ONES, SUMS, VIEWS
from ...remember import remembered
from ...values import Class, Constant, Data, Instance, Sequence, Value
from ..names import named_parts, names_of
from ..nodes import nodes_by

if TYPE_CHECKING:
    from ...facts import SourceFacts

_DISCOUNTS = frozenset("gamma discount discounts discounting disc".split())
# They say that an episode has ended here, and not that it goes on.
_ENDS = frozenset(
    "done dones terminal terminals terminated terminations termination term terms".split()
)
# What may stand beside: `next_done`, `batch.is_terminal`, but not `gamma_with_terminal`.
_BESIDE = frozenset("is next batch mb env envs episode step t b traj last".split())
_PATH = re.compile(r"[\w.\[\]'\"]+")  # `batch.done` and `batch['done']`, and no computation
_KEY = re.compile(r"""\[['"](\w+)['"]\]$""")


@dataclass(frozen=True, eq=False)
class Target:
    """`reward + discount * bootstrapped`, in the call of a function that adds them up."""

    frame: Frame
    total: Node
    reward: Node
    product: Node


@remembered
def targets(facts: SourceFacts) -> list[Target]:
    """All sums of a reward and something discounted."""
    return list(_targets(facts))


def _targets(facts: SourceFacts) -> Iterator[Target]:
    for frame, total in sums(facts):
        products = [it for it in total.inputs if is_discounted(facts, it, frame)]
        if len(products) != 1:
            continue
        rewards = [it for it in total.inputs if _is_reward(facts, it, frame)]
        if len(rewards) == 1 and rewards[0] is not products[0]:
            yield Target(frame, total, rewards[0], products[0])


def sums(facts: SourceFacts) -> Iterator[tuple[Frame, Node]]:
    """Every sum that some function makes, in this file or in what it calls."""
    for node in nodes_by(facts, ("+",)):
        if node.frame is not None and node.frame.function is not None:
            yield node.frame, node


def _is_reward(facts: SourceFacts, node: Node, frame: Frame) -> bool:
    return any(is_reward(name) for name in names_of(facts, node, frame))


_TOTALS = SUMS | CONTRACTIONS


def is_sum_of_masked_rewards(facts: SourceFacts, node: Node, frame: Frame) -> bool:
    """Whether rewards of several steps are added up, as far as flags let them."""
    if node.operation not in _TOTALS:
        return False
    behind = list(islice(node.ancestors(), 200))
    return any(_is_reward(facts, it, frame) for it in behind) and any(
        is_end(facts, it, frame) for it in behind
    )


def is_discounted(facts: SourceFacts, node: Node, frame: Frame) -> bool:
    """Whether a value is multiplied by a number just below one, or by what is called so."""
    if node.operation != "*" or not isinstance(node.syntax, ast.expr):
        return False
    numbers = [it.value for it in factors(node) if isinstance(it, Constant)]
    words: set[str] = set()
    for it in ast.walk(node.syntax):
        if isinstance(it, ast.Constant):
            numbers.append(it.value)
        elif isinstance(it, (ast.Name, ast.Attribute)):
            words.update(words_of(it.id if isinstance(it, ast.Name) else it.attr))
    if any(isinstance(it, float) and 0.5 < it < 1.0 for it in numbers):
        return True
    for it in node.inputs:
        words.update(word for name in names_of(facts, it, frame) for word in words_of(name))
    return not words.isdisjoint(_DISCOUNTS)


def factors(product: Node) -> list[Value]:
    """The factors of a product of products."""
    found: list[Value] = []
    pending: list[Value] = list(product.operands)
    while pending and len(found) < 12:
        value = pending.pop(0)
        if isinstance(value, Data) and _is_product_beside(value.node, product):
            pending = [*value.node.operands, *pending]
        else:
            found.append(value)
    return found


def _is_product_beside(node: Node, product: Node) -> bool:
    return node.operation == "*" and bool(node.operands) and node.frame is product.frame


def is_end(facts: SourceFacts, node: Node, frame: Frame) -> bool:
    """Whether a value is true where an episode ends, by its name."""
    while node.operation in VIEWS and node.inputs:
        node = node.inputs[0]
    names = [it for it in names_of(facts, node, frame) if it and _PATH.fullmatch(it)]
    own = [it for it in names if is_episode_end(it) or is_called_an_end(it)]
    return bool(own) and all(map(is_called_an_end, own))


def is_called_an_end(name: str) -> bool:
    """Whether a name is that of a flag which is true where an episode ends."""
    words = set(words_of(_last_part(name)))
    return not words.isdisjoint(_ENDS) and words <= _ENDS | _BESIDE


def _last_part(path: str) -> str:
    """What something is called in the record that holds it: `done` of `data['done']`."""
    key = _KEY.search(path)
    return key[1] if key is not None else path.rpartition(".")[2]


def ends_beside(facts: SourceFacts, frame: Frame, reward: Node) -> str:
    """The name of a flag that comes with a reward; empty if there is none.

    It is in the record or the tuple from which the reward is taken, or a parameter beside it.
    """
    records = [
        it.cls if isinstance(it, Instance) else it.type for it, _ in _records_with(frame, reward)
    ]
    classes = [it for it in records if it is not None]
    classes += [it for it, _ in _likely_record(facts, reward)]
    fields = [name for cls in classes for name in all_fields(cls)]
    names = [*fields, *given_beside(frame, reward)]
    return next((it for it in names if is_called_an_end(it) or is_called_going_on(it)), "")


# They are zero where an episode ends, and one or a discount elsewhere.
_GOES_ON = frozenset(
    "disc discount discounts cont conts continue continues continuation continuations nonterminal "
    "nonterminals notdone alive".split()
)


def is_called_going_on(name: str) -> bool:
    """Whether a name is that of what is zero where an episode ends."""
    words = set(words_of(_last_part(name)))
    return not words.isdisjoint(_GOES_ON) and words <= _GOES_ON | _BESIDE


# They take a part of an array or lengthen it, and leave it what it is.
_CUTS = frozenset(
    "item ndarray.astype jax.numpy.concatenate jax.numpy.asarray jax.lax.dynamic_slice "
    "jax.lax.dynamic_slice_in_dim jax.lax.slice_in_dim jax.lax.dynamic_index_in_dim "
    "jax.lax.index_in_dim jax.numpy.take jax.numpy.roll jax.numpy.pad".split()
)


def given_beside(frame: Frame, part: Node) -> dict[str, Node]:
    """What a function is given together with something: in one tuple, or as its parameters."""
    given = {name: it.node for name, it in frame.given.items() if isinstance(it, Data)}
    whole = part
    while whole.operation in _CUTS and whole.inputs and not _is_member(whole):
        whole = whole.inputs[0]
    if whole in given.values():
        return given
    known = {name: it.node for name, it in frame.environment.items() if isinstance(it, Data)}
    for value in frame.environment.values():
        if isinstance(value, Sequence) and value.type is None and value.kind == "tuple":
            items = [it.node for it in value.items or () if isinstance(it, Data)]
            if part in items:
                return {name: node for name, node in known.items() if node in items}
    if not _is_unpacked(part):
        return {}
    return {
        name: node
        for name, node in known.items()
        if _is_unpacked(node) and node.inputs[0] is part.inputs[0]
    }


def _is_member(node: Node) -> bool:
    """Whether something is one of several things: an element of a tuple, or a value of a dict."""
    return node.operation == "item" and (_is_unpacked(node) or node.label.startswith(("'", '"')))


def _is_unpacked(node: Node) -> bool:
    """Whether something is a part of a tuple: `a, b = pair`."""
    is_number = node.operation == "item" and node.label.isdigit()
    return is_number and not isinstance(node.syntax, ast.Subscript)


class Part(NamedTuple):
    """A field of a record; nobody may have read it."""

    name: str
    node: Node | None


def observations_beside(
    facts: SourceFacts, frame: Frame, reward: Node
) -> tuple[Part | None, Part | None]:
    """The observation in the record from which a reward is taken, and the one after it."""
    records = [
        (value.cls if isinstance(value, Instance) else value.type, dict(parts))
        for value, parts in _records_with(frame, reward)
    ]
    beside = given_beside(frame, reward)
    named = [(list(all_fields(cls)) if cls is not None else [], parts) for cls, parts in records]
    named += [(list(all_fields(cls)), parts) for cls, parts in _likely_record(facts, reward)]
    for fields, parts in [*named, (list(beside), beside)]:
        seen = [Part(name, parts.get(name)) for name in fields if _is_observed(name)]
        after = [it for it in seen if "next" in it.name]
        now = [it for it in seen if it not in after]
        if len(now) == 1 and len(after) == 1:
            return now[0], after[0]
    return None, None


def _is_observed(name: str) -> bool:
    """Whether a field holds what was seen, and nothing else of it: `obs`, `next_state`."""
    words = set(words_of(name)) - {"next"}
    return len(words) == 1 and (is_observation(name) or not words.isdisjoint(("state", "states")))


def _likely_record(facts: SourceFacts, part: Node) -> list[tuple[Class, dict[str, Node]]]:
    """The one class of the program that has all fields which are read beside a field."""
    owner = part.inputs[0] if part.operation == "field" and part.inputs else None
    if owner is None or owner.children is None:
        return []
    read = {it.label: it for it in owner.children.values() if it.operation == "field"}
    found = [cls for cls in facts.record.classes if read.keys() <= all_fields(cls).keys()]
    return [(found[0], read)] if len(found) == 1 else []


def _records_with(
    frame: Frame, part: Node
) -> Iterator[tuple[Instance | Sequence, list[tuple[str, Node]]]]:
    """The records that a function knows and that hold something, with their parts by name."""
    for value in frame.environment.values():
        if isinstance(value, (Instance, Sequence)):
            known = named_parts(value)
            if any(node is part for _, node in known):
                yield value, known


_FILLED = ONES | FULLS


def is_filled(node: Node, frame: Frame) -> bool:
    """Whether a function makes an array of one number, several times."""
    return node.operation in _FILLED and node.frame is frame


def estimates(facts: SourceFacts, target: Target) -> list[Value]:
    """The factors of a discounted product but for one number for all."""
    return [it for it in factors(target.product) if not _is_one_number(facts, it, target.frame)]


def _is_one_number(facts: SourceFacts, factor: Value, frame: Frame) -> bool:
    if not isinstance(factor, Data) or is_filled(factor.node, frame):
        return True
    words = {it for name in names_of(facts, factor.node, frame) for it in words_of(name)}
    # A discount in a record is zero where an episode ends.
    is_given = factor.node.operation == "parameter" and not words.isdisjoint(_DISCOUNTS)
    return "gamma" in words or is_given
