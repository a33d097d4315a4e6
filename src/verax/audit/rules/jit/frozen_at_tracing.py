"""A clock, or a random number of Python's, that is read while tracing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Loop
from ...source.operations import ARITHMETIC
from ...source.queries.blame import is_outside, wrongly_called_at
from ...source.queries.boundaries import LOOPS, crossed, repeated
from ...source.queries.loops.bodies import behind
from ...source.values import Data, Sequence, nodes_of
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Call
    from ...source.facts import SourceFacts

_CLOCKS = frozenset(
    (
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.monotonic",
        "time.process_time",
        "time.sleep",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today",
        "os.urandom",
        "uuid.uuid4",
        "uuid.uuid1",
        "builtins.input",
        "secrets.randbelow",
        "secrets.token_bytes",
    )
)
_GENERATORS = (
    "numpy.random.default_rng",
    "numpy.random.RandomState",
    "numpy.random.Generator",
    "random.Random",
)
# They make a generator, or set one up, and draw nothing.
_NO_DRAWS = frozenset("seed default_rng RandomState Generator Random PCG64 SeedSequence".split())


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Calls inside of what runs more often than Python goes through it."""
    for call in facts.calls(name for name in facts.calls_by_name if _may_vary(name)):
        what = _what(facts, call)
        region = repeated(call.frame) if what else None
        if region is None:
            continue
        yield RULE.finding(
            wrongly_called_at(facts, call, is_outside(facts)),
            current=f"`{call.text}` runs once, while the `{region.kind}` is traced: every call, "
            f"and every turn, gets the same {what}",
            expected="what is different each time comes in as an argument",
            fix="Draw with `jax.random` and a key that is passed in."
            if what == "numbers"
            else "Read it outside and pass it in as an argument.",
            evidence=(
                Evidence(f"inside of `{region.kind}`", region.place),
                Evidence("it is read here", call.place),
            ),
            engine=Engine.SOURCE,
        )


def _may_vary(name: str) -> bool:
    owner = name.rpartition(".")[0]
    is_drawn = owner in ("numpy.random", "random") or owner in _GENERATORS
    return is_drawn or name in _CLOCKS or name == "builtins.next"


def _what(facts: SourceFacts, call: Call) -> str:
    """What a call gives that would be different each time."""
    name = call.name
    if name in _CLOCKS:
        return "time" if name.startswith(("time", "datetime")) else "value"
    if name == "builtins.next":
        return "element" if _is_iterator_from_outside(facts, call) else ""
    owner, _, method = name.rpartition(".")
    if method in _NO_DRAWS:
        return ""
    if owner in ("numpy.random", "random"):
        return "numbers"
    if owner in _GENERATORS and _is_unseeded_or_from_outside(call):
        return "numbers"
    return ""


def _is_unseeded_or_from_outside(call: Call) -> bool:
    """Whether a generator gives other numbers each time: one that is made here, of a seed, not."""
    generator = call.args[0] if call.args else None
    if not isinstance(generator, Data) or generator.node.frame is None:
        return False
    syntax = generator.node.syntax
    is_seeded = bool(getattr(syntax, "args", None) or getattr(syntax, "keywords", None))
    return bool(crossed(call.frame, generator.node.frame)) or not is_seeded


_ARITHMETIC = ARITHMETIC | {"@"}
_MADE_WHILE_TRACING = frozenset(("itertools.count", "haiku.PRNGSequence"))


def _is_computed_with(facts: SourceFacts, call: Call, iterator: Data) -> bool:
    """Whether an element goes into what the turns of a loop give that its iterator is not in."""
    around = {it for it in crossed(call.frame, iterator.node.frame) if it.kind in LOOPS}
    result = set(nodes_of(call.result))
    return any(
        (it.operation in _ARITHMETIC or it.operation.startswith("jax."))
        and not result.isdisjoint(it.inputs)
        for loop in facts.events(Loop)
        if loop.region in around
        for it in behind(loop.returned)
    )


def _is_iterator_from_outside(facts: SourceFacts, call: Call) -> bool:
    """Whether what goes on by one element is made before, and not given to the function.

    One that counts gives each trace a number of its own, and nobody minds which, unless a loop
    computes with it in each turn.
    """
    iterator = call.args[0] if len(call.args) == 1 else None
    if isinstance(iterator, Sequence):
        return iterator.made_in is not None and bool(crossed(call.frame, iterator.made_in))
    if isinstance(iterator, Data) and iterator.type in _MADE_WHILE_TRACING:
        return iterator.type == "itertools.count" and _is_computed_with(facts, call, iterator)
    node = iterator.node if isinstance(iterator, Data) and not iterator.traced else None
    if node is None or node.frame is None or node.operation not in ("call", "builtins.iter"):
        return False
    return bool(crossed(call.frame, node.frame))


RULE = Rule(
    code="JT104",
    name="frozen-at-tracing",
    title="Clock or random number read while tracing",
    family="jit",
    severity=Severity.CRITICAL,
    preview=True,
    explanation="""\
The time, and the numbers of `random` and `np.random`, are read by Python while a function is
traced. They are constants of the compiled program: the same in every call, and in every turn of a
`scan`.
""",
    wrong="""\
import jax
import jax.numpy as jnp
import numpy as np

@jax.jit
def entry(x):
    return x + np.random.normal(size=3)

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(key, x):
    return x + jax.random.normal(key, (3,))

def inputs():
    return jax.random.key(0), jnp.ones(3)
""",
    source=check_source,
)
