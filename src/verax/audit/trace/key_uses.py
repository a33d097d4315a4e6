"""What is wrong with the uses of random keys: reused ones, and those that repeat.

A key may be consumed once: drawn from, or split. Branches of a `cond` exclude each other, and a
function that is evaluated and differentiated with one key draws the same numbers on purpose.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np

from ..finding import Place
from .copies_of_networks import are_begun_alike
from .keys import Key, Use
from .moved_rows import select_alike
from .program import Body, Loop, Mapping, Step, Value

if TYPE_CHECKING:
    from .facts import Facts

# Weights meet data in these; noise does not.
_CONTRACTIONS = ("dot_general", "conv_general_dilated")


@dataclass(frozen=True, eq=False)
class Reuse:
    """Two uses of one key, and where the later one leaves the way of the earlier one."""

    key: Key
    first: Use
    second: Use
    first_place: Place
    place: Place


@dataclass(frozen=True, eq=False)
class Repetition:
    """A draw that gives the same numbers in every iteration, lane or shard of a step.

    `root` is the key from outside of the step that the drawn key is derived from, `consumed` the
    use of it inside. `carried` says that the loop hands it on as it came.
    """

    draw: Use
    over: Step
    root: Key
    consumed: Use
    carried: bool


def unused_children(facts: Facts, key: Key) -> list[Key]:
    """Children of a split key that nothing takes."""
    used = {it.number for use in live_uses(facts) for it in use.key.line()}
    return [it for it in facts.keys.children(key) if it.number not in used]


def live_uses(facts: Facts) -> list[Use]:
    """The uses on which some output depends."""
    return [
        use
        for use in facts.keys.uses
        if use.kind in ("loop", "next") or any(out in facts.live for out in use.step.outputs)
    ]


def reuses(facts: Facts) -> list[Reuse]:
    """Keys that are consumed more than once, by each use after the first."""
    by_key: dict[int, list[Use]] = defaultdict(list)
    for use in live_uses(facts):
        for number in facts.keys.members(use.key) or (use.key.number,):
            by_key[number].append(use)
    found: dict[tuple[Use, Use], Reuse] = {}
    for uses in by_key.values():
        for first, second in pairwise(_in_one_run(facts, uses)):
            if (first, second) not in found:
                places = _parting(facts, first, second)
                if places is not None:
                    found[first, second] = Reuse(second.key, first, second, *places)
    # Children of a key that is split twice come twice as well: one finding says it all.
    split_again = {it.key for it in found.values() if it.first.kind == it.second.kind == "split"}
    return [it for it in found.values() if split_again.isdisjoint(it.key.line()[1:])]


def _in_one_run(facts: Facts, uses: list[Use]) -> list[Use]:
    """The uses without those that exclude an earlier one, or repeat it on purpose."""
    kept: list[Use] = []
    for use in uses:
        if use.kind == "next" or all(_both_happen(facts, it.step, use.step) for it in kept):
            kept.append(use)
    return kept


def _both_happen(facts: Facts, one: Step, other: Step) -> bool:
    if one is other or one in other.ancestors() or other in one.ancestors():
        return False
    return not (
        exclusive(one, other)
        or _evaluated_again(one, other)
        or are_begun_alike(facts, call_chain(one)[::-1], call_chain(other)[::-1])
        or _selected(facts, one, other)
        or select_alike(facts, _outermost_call(one), _outermost_call(other))
    )


def _bodies(step: Step) -> Iterator[Body]:
    body = step.within
    yield body
    while body.owner is not None:
        body = body.owner.within
        yield body


def exclusive(one: Step, other: Step) -> bool:
    """Whether two steps are in different branches of a `cond`."""
    branches = {body.owner: body for body in _bodies(one) if _is_branch(body)}
    return any(
        _is_branch(body) and branches.get(body.owner, body) is not body for body in _bodies(other)
    )


def _is_branch(body: Body) -> bool:
    return body.owner is not None and body.owner.kind == "cond"


def _evaluated_again(one: Step, other: Step) -> bool:
    """Whether a function runs in both, differentiated in one: that has to draw the same numbers."""
    if one.place is None or one.place != other.place:
        return False
    derived = [{it for it in step.ancestors() if it.kind == "derive"} for step in (one, other)]
    return any(
        _runs_in(beside, _differentiated(step, by))
        for step, beside in ((one, other), (other, one))
        for by in derived[step is other] - derived[step is one]
    )


def _differentiated(step: Step, by: Step) -> Place | None:
    """The place in a function of which a derivative is taken, on the way from there to a step."""
    inside = list(call_chain(step, by))
    names = {_last_name(body.function) for body in by.bodies}
    # JAX 0.8 has the frames around the derivative there, too.
    own = next((i for i, it in enumerate(inside) if _last_name(it.function) in names), len(inside))
    inside = [it for it in inside[: own + 1] if _last_name(it.function) != "<lambda>"]
    return inside[-1] if inside else step.place


def _last_name(function: str) -> str:
    return function.rpartition(".")[2]


def _runs_in(step: Step, place: Place | None) -> bool:
    """Whether a step is in a run of the function that a place is in."""
    function = place and (place.file, place.function)
    return any((it.file, it.function) == function for it in call_chain(step))


def _selected(facts: Facts, one: Step, other: Step) -> bool:
    """Whether a `where` takes the result of either, so that only one of them counts."""
    first, second = _selections(facts, one), _selections(facts, other)
    return any(first[step].isdisjoint(second[step]) for step in first.keys() & second.keys())


def _selections(facts: Facts, step: Step) -> dict[Step, set[int]]:
    """The selection that a result goes into, if nothing else takes it, and as which case."""
    pending = step.outputs[0]
    for _ in range(64):
        made = facts.variation.made_from(pending)
        takers = dict.fromkeys(by for _, by in made)
        if len(takers) != 1 or len({target for target, _ in made}) != 1:
            return {}
        taker = next(iter(takers))
        if taker.primitive == "select_n" and taker.inputs[0] is not pending:
            return {taker: {i for i, it in enumerate(taker.inputs) if it is pending}}
        pending = made[0][0]
    return {}


def call_chain(step: Step, until: Step | None = None) -> tuple[Place, ...]:
    """The user's frames around a step, innermost first, through all calls around it."""
    frames = step.frames
    for owner in step.ancestors():
        if owner is until:
            break
        if owner.frames and frames[-len(owner.frames) :] != owner.frames:
            frames = (*frames, *owner.frames)
    return frames


def _outermost_call(step: Step) -> Step:
    """The call of the user's line that a step of a library belongs to."""
    for owner in step.ancestors():
        if owner.frames != step.frames or any(body.place is not None for body in owner.bodies):
            break
        step = owner
    return step


def _parting(facts: Facts, first: Use, second: Use) -> tuple[Place, Place] | None:
    """Where the ways to two uses part; `None` if that is in code that is not the user's."""
    if second.kind == "next":
        inside = call_chain(first.step, second.step)
        here = inside[-1] if inside else facts.place(first.step)
        return facts.place(second.step), here
    one, other = call_chain(first.step), call_chain(second.step)
    for here, there in zip(reversed(one), reversed(other), strict=False):
        if here != there:
            return here, there
    calls = _outermost_call(first.step), _outermost_call(second.step)
    if len(one) != len(other) or not one:
        return facts.place(first.step), facts.place(second.step)
    # One expression, twice: a loop of the user runs it again, or a library has two lines.
    if calls[0] is calls[1] or not _same_code(*calls):
        return None
    return one[0], other[0]


def _same_code(one: Step, other: Step) -> bool:
    """Whether two steps are one line that runs twice, down to the library's own."""
    return (
        one.stack == other.stack
        and one.primitive == other.primitive
        and one.params.get("name") == other.params.get("name")
        and one.params.get("body_jaxpr") is other.params.get("body_jaxpr")
    )


def repetitions(facts: Facts) -> list[Repetition]:
    """Draws whose key is the same in every iteration, lane or shard."""
    found: dict[tuple[Step, Key], Repetition] = {}
    for use in live_uses(facts):
        if use.kind != "draw":
            continue
        for over in use.step.ancestors():
            # A library's own loop may well mean it: a Brownian path is the same whenever asked.
            theirs = over.kind == "while" and not facts.is_users(over)
            if runs_often(over) and not theirs and not facts.keys.changes(use.key, over):
                root = _root(use.key, over)
                if (over, root) not in found and _matters(facts, use, over):
                    found[over, root] = _repetition(facts, use, over, root)
    return list(found.values())


def _repetition(facts: Facts, use: Use, over: Step, root: Key) -> Repetition:
    inside = (it for it in facts.keys.uses if it.key is root and over in it.step.ancestors())
    carried = root.kind == "carry" and root.step is over
    return Repetition(use, over, root, next(inside, use), carried)


def runs_often(step: Step) -> bool:
    """Whether a step runs its body more than once."""
    if isinstance(step.detail, Loop):
        return step.detail.length is None or step.detail.length > 1
    if isinstance(step.detail, Mapping):
        return step.detail.size > 1
    return step.kind == "shard" and int(np.prod([*step.detail.mesh.values()])) > 1


def _root(key: Key, over: Step) -> Key:
    line = key.line()
    for it in line:
        if it.step is None or over not in it.step.ancestors():
            return it
    return line[-1]


def _matters(facts: Facts, use: Use, over: Step) -> bool:
    """Whether a repeated draw meets what changes as noise does, or comes out once for each.

    Numbers that are the same for all and only multiply what changes as matrices are weights.
    """
    outputs = {it for body in over.bodies for it in body.outputs}
    if isinstance(over.detail, Mapping):
        outputs = {inner for _, inner, axis in over.detail.results if axis is not None}
    seen: set[Value] = set()
    pending: list[tuple[Value, bool]] = [(out, True) for out in use.step.outputs]
    while pending:
        value, is_plain = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in outputs and value in facts.live:
            return True
        for target, by in facts.variation.made_from(value):
            if target not in facts.live:
                continue
            if facts.variation.changes(target, over):
                if not (is_plain and by.primitive in _CONTRACTIONS):
                    return True
                continue
            floating = jnp.issubdtype(target.dtype, jnp.floating)
            pending.append((target, is_plain and (floating or _makes_floats(by))))
    return False


def _makes_floats(step: Step) -> bool:
    """Whether a step is one of those that turn random bits into floats."""
    return step.primitive in (
        "shift_right_logical",
        "or",
        "bitcast_convert_type",
        "convert_element_type",
        "reshape",
    )


def name_of(facts: Facts, key: Key) -> str:
    """A key in the user's words."""
    if key.kind == "input" and key.value is not None:
        index = "" if key.index is None else f"[{', '.join(map(str, key.index))}]"
        return (key.value.name or "a key") + index
    if key.kind == "each" and (inside := _name_inside(key)):
        return inside
    if key.kind in ("carry", "each", "final") and key.value is not None:
        return _plain(key.value.name) or (name_of(facts, key.parents[0]) if key.parents else "")
    if key.kind == "child":
        return _assigned(facts, key) or f"split({name_of(facts, key.parents[0])})[{key.index}]"
    if key.kind == "folded":
        return _assigned(facts, key) or f"fold_in({name_of(facts, key.parents[0])}, …)"
    if key.kind == "seed":
        number = key.index[0]
        return f"key({number[1]})" if number[0] == "constant" else "a key from a seed"
    if key.kind == "constant":
        return "a captured key"
    return (_assigned(facts, key) or name_of(facts, key.parents[0])) if key.parents else "a key"


def quoted(facts: Facts, key: Key) -> str:
    """How a fix refers to a key: by the variable, part or field that holds it, if there is one."""
    name = name_of(facts, key)
    try:
        syntax = ast.parse(name, mode="eval").body
    except SyntaxError:
        return "the key"
    is_held = isinstance(syntax, (ast.Name, ast.Attribute, ast.Subscript))
    return f"`{name}`" if is_held else "the key"


def _name_inside(key: Key) -> str:
    """What the body of a loop or a mapped function calls its share of an array of keys."""
    detail = key.step.detail if key.step is not None else None
    shares: list[tuple[Value, Value]] = []
    if isinstance(detail, Loop):
        shares = list(zip(detail.scanned, detail.slices, strict=True))
    elif isinstance(detail, Mapping):
        shares = [(outer, inner) for outer, inner, _ in detail.mapped]
    return next((_plain(inner.name) for outer, inner in shares if outer is key.value), "")


def has_name(facts: Facts, key: Key) -> bool:
    """Whether a key that a split makes has a name of its own."""
    return bool(_assigned(facts, key))


def _plain(name: str) -> str:
    return "" if name.startswith(("carry", "slice")) else name


def _assigned(facts: Facts, key: Key) -> str:
    """What the statement that makes a key calls it."""
    step = key.step
    if step is None or step.place is None:
        return ""
    statement = facts.sources.statement(step.place)
    targets: tuple[str, ...] = statement.targets if statement is not None else ()
    count = step.outputs[0].shape[0] if key.kind == "child" and step.outputs[0].shape else 1
    if targets and len(targets) == count and not any(name.startswith("*") for name in targets):
        return targets[key.index] if key.kind == "child" else targets[0]
    if len(targets) == 1 and key.kind == "child" and targets[0].isidentifier():
        return f"{targets[0]}[{key.index}]"
    return ""
