"""What the retry loop did: which assertions failed, and what repairing them changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from verax.channel import Site

from .outcome import RuntimeAssertion


@dataclass(frozen=True)
class Change:
    """A part of the state that a repair replaced: a size, a setting, the shape of an array."""

    where: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.where}: {self.before} -> {self.after}"


@dataclass(frozen=True)
class Repair:
    """One failed try of a step, and what was done about it.

    Attributes:
        step: The step that failed, counted from 0; `None` outside of a loop over steps.
        messages: The first line of each failed assertion's message.
        sites: Where those assertions stand.
        changes: What the fixes changed in the state.
    """

    step: int | None
    messages: tuple[str, ...]
    sites: tuple[Site | None, ...]
    changes: tuple[Change, ...]

    def __str__(self) -> str:
        done = "; ".join(map(str, self.changes)) or "no visible change"
        where = "" if self.step is None else f"step {self.step}: "
        return f"{where}{' | '.join(self.messages)} ({done})"


def describe(
    step: int | None, failed: Sequence[RuntimeAssertion], before: Any, after: Any
) -> Repair:
    """The record of one repair."""
    return Repair(
        step=step,
        messages=tuple(first_line(assertion) for assertion in failed),
        sites=tuple(assertion.site for assertion in failed),
        changes=tuple(_changes(before, after, "state")),
    )


def first_line(assertion: RuntimeAssertion) -> str:
    """The message of an assertion, without where and when."""
    return str(assertion).splitlines()[0]


def _changes(before: Any, after: Any, where: str) -> Iterator[Change]:
    """The smallest parts that differ. Arrays count as equal if shape and dtype are."""
    if before is after:
        return
    if _is_array(before) and _is_array(after):
        if (before.shape, before.dtype) != (after.shape, after.dtype):
            yield Change(where, jax.typeof(before).str_short(), jax.typeof(after).str_short())
        return
    parts_before, parts_after = _parts(before), _parts(after)
    if type(before) is type(after) and parts_before and parts_before.keys() == parts_after.keys():
        for name in parts_before:
            yield from _changes(parts_before[name], parts_after[name], where + name)
    elif not _same(before, after):
        yield Change(where, before, after)


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray))


def _parts(value: Any) -> dict[str, Any]:
    """The named parts of a container, static ones included."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        names = list(value._fields)  # pyright: ignore
    elif isinstance(value, Mapping):
        return {f"[{key!r}]": item for key, item in value.items()}
    elif isinstance(value, (list, tuple)):
        return {f"[{position}]": item for position, item in enumerate(value)}
    else:
        return {}
    return {f".{name}": getattr(value, name) for name in names if hasattr(value, name)}


def _same(before: Any, after: Any) -> bool:
    try:
        return bool(before == after)
    except (TypeError, ValueError):
        return False


class RetryLimitError(RuntimeError):
    """Repairs did not help: the same computation failed again and again.

    Attributes:
        repairs: All repairs that were tried on it, first to last.
        messages: What failed after the last of them.
    """

    def __init__(
        self,
        repairs: Sequence[Repair],
        messages: Sequence[str],
        sites: Sequence[Site | None],
        step: int | None = None,
    ):
        self.repairs: tuple[Repair, ...] = tuple(repairs)
        self.messages: tuple[str, ...] = tuple(messages)
        self._sites, self._step = tuple(sites), step
        super().__init__(self._text())

    def __reduce__(self) -> Any:
        return type(self), (self.repairs, self.messages, self._sites, self._step)

    def _text(self) -> str:
        count = len(self.repairs)
        what = "it" if self._step is None else f"step {self._step}"
        tries = {0: "and nothing was to be repaired", 1: "still, after one repair"}
        lines = [f"{what} fails {tries.get(count, f'still, after {count} repairs')}:"]
        for message, site in zip(self.messages, self._sites, strict=True):
            lines.append(f"  {message}" + (f"\n    asserted at {site}" if site else ""))
        if count:
            lines.append("what the repairs changed:")
            growth = _growth(self.repairs)
            lines.extend(f"  {where}: {' -> '.join(map(str, v))}" for where, v in growth.items())
            if not growth:
                lines.append("  nothing: a fix_fn must return a changed state")
        lines.append("If it would have come right in the end, raise max_retries.")
        return "\n".join(lines)


def _growth(repairs: Sequence[Repair]) -> dict[str, list[Any]]:
    """For each part of the state that was changed, its values from first to last."""
    history: dict[str, list[Any]] = {}
    for repair in repairs:
        for change in repair.changes:
            history.setdefault(change.where, [change.before]).append(change.after)
    return history
