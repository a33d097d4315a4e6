"""A scan whose body reads the whole sequence and not its slice."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from ...finding import Confidence, Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.operations import ARITHMETIC
from ...source.queries.loops.bodies import (
    behind,
    body_frame,
    element_written,
    named_at,
    paired_leaves,
)
from ...source.queries.loops.fixed_rows import fixed_rows, owner
from ...source.queries.loops.rows_beside import rows_beside_slices
from ...source.values import Data
from .._rule import Rule, Verdict

if TYPE_CHECKING:
    from ...source.facts import SourceFacts
    from ...source.frame import Region
    from ...source.graph import Node
    from ...trace.facts import Facts
    from ...trace.program import Step, Value


def check(facts: Facts) -> Iterator[Verdict]:
    """Scanned arrays whose slices are unused while the array itself is read inside."""
    from ...trace.describe import name_of, tensor_of

    for step in facts.steps:
        if step.kind != "scan":
            continue
        loop = step.detail
        for whole, part in zip(loop.scanned, loop.slices, strict=True):
            reader = _reader_inside(facts, step, whole)
            if part.consumers or reader is None or part in step.bodies[0].outputs:
                continue
            name = name_of(facts, whole)
            yield RULE.finding(
                facts.place(reader),
                current=f"{name} ({tensor_of(facts, whole)}) is scanned, but the body ignores its "
                f"slice and reads {name} as a whole: the same element in every iteration",
                expected=f"iteration i uses element i of {name}",
                fix="use the second argument of the body",
                evidence=(Evidence(f"{name} is scanned here", step.place),),
            )


def _reader_inside(facts: Facts, step: Step, whole: Value) -> Step | None:
    """A step of the body that reads the array at a position which is the same every time."""
    inside = set(step.bodies[0].walk())
    for consumer in whole.consumers:
        if consumer in inside and consumer.kind == "operation":
            positions = consumer.inputs[1:]
            if not any(facts.variation.changes(it, step) for it in positions):
                return consumer
    return None


def check_source(facts: SourceFacts) -> Iterator[Verdict]:
    """Scanned arrays whose slices are unused, while the body reads one place of the array."""
    for loop in facts.events(Loop):
        found = _scanned(facts, loop) or _fixed(facts, loop) or _beside(facts, loop)
        if found is not None:
            yield found


def _scanned(facts: SourceFacts, loop: Loop) -> Finding | None:
    """The body takes what it is to have a slice of, be it an element or all of it."""
    if loop.kind not in ("scan", "map") or loop.returned is None:
        return None
    used = behind(loop.returned)
    pairs = [it for pair in paired_leaves(loop.xs, loop.slices) for it in _apart(*pair, used)]
    # With nothing of what is scanned in use, whatever takes the whole takes it by mistake.
    reads = _takes if used.isdisjoint(part for _, part in pairs if part is not None) else _reads
    for whole, part in pairs:
        if part in used:
            continue
        readers = [it for it in used if reads(it, whole.node, loop.region)]
        reader = min(readers, key=lambda it: getattr(it.syntax, "lineno", 0), default=None)
        body = body_frame(facts, loop)
        written = element_written(body, whole.node) if reader is None else None
        place = written if reader is None else reader.place
        if place is None:
            continue
        name = facts.name_of(whole)
        what = "array" if reader is not None and reader.operation != "item" else "element"
        is_elsewhere = reader is not None and reader.frame is not body
        return RULE.finding(
            (named_at(body, whole.node) if is_elsewhere else None) or place,
            current=f"{name} is scanned, but the body ignores its slice and reads {name} as a "
            f"whole: the same {what} in every iteration",
            expected=f"iteration i uses element i of {name}",
            fix="use the second argument of the body",
            evidence=(Evidence(f"{name} is scanned here", loop.place),),
            engine=Engine.SOURCE,
        )
    return None


def _apart(whole: Data, part: Data, used: set[Node]) -> Iterator[tuple[Data, Node | None]]:
    """An array and its slice; the fields of both, where the body takes a record only by these.

    A field of which it takes no slice has none.
    """
    yield whole, part.node
    own = {node: key for key, node in (part.node.children or {}).items() if _is_field(key)}
    if not any(node in used for node in own):
        return
    if all(node in own for node in used if part.node in node.inputs):
        slices = {key: node for node, key in own.items()}
        for key, field in (whole.node.children or {}).items():
            if _is_field(key):
                yield Data(field), slices.get(key)


def _is_field(key: Hashable) -> bool:
    """Whether a part is one of a record, and no element: `batch.obs`, `batch["obs"]`."""
    match key:
        case ("field", _) | ("item", ("constant", str())):
            return True
        case _:
            return False


def _fixed(facts: SourceFacts, loop: Loop) -> Finding | None:
    """The body takes an element at a fixed place, whichever of them its turn is for."""
    for row in fixed_rows(facts, loop):
        name = facts.name_of(Data(row.array))
        return RULE.finding(
            row.place,
            current=f"the loop goes through {name}, but its body reads the same element of {name} "
            "in every iteration, and neither its slice nor the number of its turn",
            expected=f"iteration i uses element i of {name}",
            fix="use the slice, or the counter as the index",
            confidence=Confidence.LIKELY,
            evidence=(Evidence("the loop is here", loop.place),),
            engine=Engine.SOURCE,
        )
    return None


def _beside(facts: SourceFacts, loop: Loop) -> Finding | None:
    """The body works on its slice in one place, and on one element of the whole in another."""
    for row in rows_beside_slices(facts, loop):
        name = facts.name_of(Data(row.array))
        return RULE.finding(
            row.place,
            current=f"the body has a slice of {name}, and beside it works on one element of {name} "
            "that is the same in every iteration",
            expected=f"iteration i uses element i of {name}",
            fix="use the second argument of the body, or take the element before the loop, if it "
            "is meant",
            confidence=Confidence.LIKELY,
            evidence=(Evidence(f"{name} is scanned here", loop.place),),
            engine=Engine.SOURCE,
        )
    return None


def _takes(node: Node, whole: Node, region: Region) -> bool:
    """Whether something is computed in a loop from an array, and not only from its shape."""
    if node.operation == "item" or node.operation in ARITHMETIC:
        return _reads(node, whole, region)
    is_shape = node.operation == "static" or node.operation.endswith("_like")
    is_same = node.operation in ("field", "element", "lane", "primal", "slice", "stack", "turn")
    if is_shape or is_same or not node.is_made_in(region) or region not in node.varies:
        return False
    return any(owner(it) is whole for it in node.inputs)


def _reads(node: Node, whole: Node, region: Region) -> bool:
    """Whether a value is an element of an array that is the same in every iteration.

    Or something is computed from the array and from what does vary, as if it were its element.
    """
    if not node.is_made_in(region):
        return False
    if node.operation in ARITHMETIC:
        return region in node.varies and whole in node.inputs
    if node.operation != "item" or region in node.varies:
        return False
    source = node.inputs[0] if node.inputs else None
    while source is not None and source is not whole and source.operation == "field":
        source = source.inputs[0]
    return source is whole


RULE = Rule(
    code="SC003",
    name="slice-ignored",
    title="A scan ignores its slice and reads the whole sequence",
    family="scan",
    severity=Severity.CRITICAL,
    by_absence=True,
    explanation="""\
An array is given to a scan as `xs`, the body does not use the slice that it gets, and reads the
array itself from the surrounding function: `actions[0]` instead of `action`. Every iteration then
sees the same element. The same holds where a loop counts the rows of an array and ignores its
counter, and where the body uses its slice, but in another place adds to its carry what it makes of
`actions[0]` alone.""",
    wrong="""\
import jax
import jax.numpy as jnp


def entry(state, actions):
    def step(s, action):
        s = 0.9 * s + actions[0]
        return s, s

    return jax.lax.scan(step, state, actions)


def inputs():
    return jnp.zeros(3), jnp.ones((7, 3))
""",
    right="""\
import jax
import jax.numpy as jnp


def entry(state, actions):
    def step(s, action):
        s = 0.9 * s + action - actions[0]
        return s, s

    return jax.lax.scan(step, state, actions)


def inputs():
    return jnp.zeros(3), jnp.ones((7, 3))
""",
    trace=check,
    source=check_source,
)
