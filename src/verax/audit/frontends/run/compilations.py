"""What was compiled in a run, how often, and why again."""

from __future__ import annotations

from collections.abc import Iterable

from ...finding import Place
from ...report import Compiled, Recompilation
from .calls import difference, nearest
from .recorder import Compiled as Seen
from .recorder import Observed


def compilations(functions: Iterable[Observed]) -> tuple[Compiled, ...]:
    """The functions that JAX compiled, those first on which it spent most."""
    found = [_of(function) for function in functions if function.compiled]
    return tuple(sorted(found, key=lambda it: -it.seconds))


def _of(function: Observed) -> Compiled:
    origin, seen = function.origin, function.compiled
    return Compiled(
        name=origin.name,
        place=Place(origin.file, origin.line, 1),
        count=len(seen),
        seconds=sum(it.seconds for it in seen),
        again=tuple(
            Recompilation(it.place, _reason(it, seen[:index]), it.seconds)
            for index, it in enumerate(seen)
            if index
        ),
    )


def _reason(compiled: Seen, earlier: list[Seen]) -> str:
    """What is other than in the earlier compilation that is most alike."""
    before = nearest(compiled.signature, [it.signature for it in earlier])
    changed = difference(before, compiled.signature) if before is not None else ""
    if changed:
        return changed
    same = [it for it in earlier if it.signature == compiled.signature]
    now = compiled.function()
    if now is None or not any(it.function() is now for it in same):
        return (
            "a new function object with the same arguments: make it, and jit it, once, outside of "
            "what is repeated"
        )
    return "the same function and types: another device, setting or context, or a cleared cache"
