"""A tracer that is printed or logged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...finding import Engine, Evidence, Finding, Severity
from ...source.events import Fact
from ...source.queries.arrays import may_be_word
from ...source.queries.blame import is_outside, wrongly_called_at
from ...source.queries.boundaries import repeated
from ...source.values import leaves
from .._rule import Rule

if TYPE_CHECKING:
    from ...source.events import Event
    from ...source.facts import SourceFacts
    from ...source.graph import Node
    from ...source.values import Data, Value

_LEVELS = "debug info warning warn error critical exception log".split()
_LOGGERS = ("logging", "absl.logging", "loguru.logger", "logging.getLogger", "structlog.get_logger")
_WRITERS = (
    "torch.utils.tensorboard.SummaryWriter",
    "tensorboardX.SummaryWriter",
    "flax.metrics.tensorboard.SummaryWriter",
)
_RECORDS = "add_scalar add_scalars add_histogram add_image scalar histogram image".split()
_WRITES = frozenset(
    (
        "builtins.open.write",
        "csv.DictWriter.writerow",
        "csv.writer.writerow",
        "pprint.pprint",
        "rich.print",
        "warnings.warn",
        "sys.stdout.write",
        "sys.stderr.write",
        "tqdm.tqdm.write",
        "wandb.log",
        "mlflow.log_metric",
        "mlflow.log_metrics",
        "mlflow.log_param",
        "wandb.run.log",
        "wandb.init.log",
        *(f"{logger}.{level}" for logger in _LOGGERS for level in _LEVELS),
        *(f"{writer}.{record}" for writer in _WRITERS for record in _RECORDS),
    )
)


def check_source(facts: SourceFacts) -> Iterator[Finding]:
    """Tracers, or texts made from them, that are shown to somebody."""
    formatted = {
        fact.data["text"].node
        for fact in facts.events(Fact)
        if fact.kind == "format" and any(_is_tracer(facts, it) for it in _held(fact.data["values"]))
    }
    for fact in facts.events(Fact):
        if fact.kind == "print":
            yield from _told(facts, fact, fact.data["values"], formatted)
    for call in facts.calls(("jax.debug.print",)):
        yield from _told(facts, call, call.args[:1], formatted)
    for call in facts.calls(_WRITES):
        # A method's first argument is the logger itself.
        yield from _told(facts, call, [*call.args, *call.keywords.values()], formatted)


def _told(
    facts: SourceFacts, event: Event, values: list[Value], formatted: set[Node]
) -> Iterator[Finding]:
    region = repeated(event.frame)
    if region is None:
        return
    found = _held(values)
    if any(_is_tracer(facts, it) or _is_text_of(it.node, formatted) for it in found):
        yield RULE.finding(
            wrongly_called_at(facts, event, is_outside(facts)),
            current=f"`{event.text}` shows a tracer, once, while the `{region.kind}` is traced, "
            "and nothing when it runs",
            expected="values are shown when they are known",
            fix="Use `jax.debug.print`, or return the value and print it outside.",
            evidence=(
                Evidence(f"inside of `{region.kind}`", region.place),
                Evidence("it is shown here", event.place),
            ),
            engine=Engine.SOURCE,
        )


def _held(values: list[Value]) -> list[Data]:
    return [leaf for value in values for leaf in leaves(value)]


def _is_tracer(facts: SourceFacts, leaf: Data) -> bool:
    return bool(leaf.traced) and not may_be_word(facts, leaf)


def _is_text_of(node: Node, formatted: set[Node]) -> bool:
    """Whether a text holds one of these, as it is or between others."""
    if node in formatted:
        return True
    is_longer = node.operation in ("+", "format")
    return is_longer and any(_is_text_of(it, formatted) for it in node.inputs)


RULE = Rule(
    code="JT102",
    name="printed-tracer",
    title="Tracer printed or logged",
    family="jit",
    severity=Severity.MINOR,
    proven=True,
    explanation="""\
`print` and `logging` run while a function is traced: once, with a tracer that has no value yet.
`jax.debug.print` runs with the computation. Printing shapes and dtypes is fine, to see when a
function is compiled.
""",
    wrong="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x):
    norm = jnp.linalg.norm(x)
    print(f"norm: {norm}")
    return x / norm

def inputs():
    return (jnp.ones(3),)
""",
    right="""\
import jax
import jax.numpy as jnp

@jax.jit
def entry(x):
    print(f"compiled for {x.shape}")
    norm = jnp.linalg.norm(x)
    jax.debug.print("norm: {}", norm)
    return x / norm

def inputs():
    return (jnp.ones(3),)
""",
    source=check_source,
)
