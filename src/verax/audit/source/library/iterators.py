"""What `itertools` makes of the things that it goes through."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from .. import parts
from ..looping import FEW
from ..values import NONE, Constant, Data, Sequence, Value, View
from .arguments import argument, first_of
from .registry import handles

if TYPE_CHECKING:
    from ..frame import Site
    from ..machine import Interpreter

_TOGETHER = FEW * FEW


def _known(value: Value) -> list[Value] | None:
    """The elements of a container in their order, if each of them is known."""
    has_order = isinstance(value, View) or (isinstance(value, Sequence) and value.kind != "set")
    return value.items if has_order and isinstance(value, Sequence) else None


@handles("itertools.islice")
def _islice(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """`islice(x, stop)` and `islice(x, start, stop, step)` take what `x[start:stop:step]` does."""
    if not isinstance(first_of(args), (Sequence, Data)):
        return machine.opaque(name, site, args)
    bounds = [NONE, *args[1:2], NONE] if len(args) == 2 else [*args[1:], *([NONE] * 3)][:3]
    if all(isinstance(it, Constant) for it in bounds):
        taken = parts.item(machine, site, args[0], Sequence("slice", bounds))
    else:
        for bound in bounds:
            machine.convert(site, "range", bound)
        taken = args[0]
    if isinstance(taken, Sequence):
        return Sequence("list", taken.items, taken.element)
    return Sequence("list", None, parts.element(machine, site, taken))


@handles("itertools.pairwise")
def _pairwise(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Each element with the one after it."""
    items = _known(first_of(args))
    if items is not None:
        return Sequence("list", [machine.tuple_of(*it) for it in itertools.pairwise(items)])
    element = parts.element(machine, site, first_of(args))
    return Sequence("list", None, machine.tuple_of(element, parts.another(site, element)))


@handles("itertools.product", "itertools.combinations", "itertools.permutations")
@handles("itertools.combinations_with_replacement")
def _combined(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Tuples of elements, in all ways that there are."""
    if name.endswith("product"):
        sources = [] if keywords or site.is_open else args
        given = args
    else:
        count = argument(args, keywords, 1, "r")
        times = count.value if isinstance(count, Constant) else None
        sources = args[:1] * times if isinstance(times, int) and times <= FEW else []
        given = [*args[:1], *([count] if count is not None else [])]
    if not sources:
        return Sequence("list", None, machine.opaque(name, site, args))
    known = [_known(it) for it in sources]
    if all(it is not None and len(it) <= FEW for it in known):
        choose = getattr(itertools, name.rpartition(".")[2])
        plain = [it.value if isinstance(it, Constant) else _known(it) for it in given]
        ways = list(itertools.islice(choose(*plain), _TOGETHER + 1))
        if len(ways) <= _TOGETHER:
            return Sequence("list", [machine.tuple_of(*it) for it in ways])
    elements = [parts.element(machine, site, it) for it in sources]
    apart = [parts.another(site, it) if at else it for at, it in enumerate(elements)]
    return Sequence("list", None, machine.tuple_of(*apart))


@handles("itertools.starmap")
def _starmap(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """A function of each row, whose elements are its arguments."""
    rows = args[1] if len(args) == 2 else NONE
    items = _known(rows)
    if items is not None and len(items) <= FEW:
        given = [_known(it) for it in items]
    else:
        given = [_known(parts.element(machine, site, rows))]
        items = None
    called = [machine.call(site, args[0], list(it), {}) for it in given if it is not None]
    if len(called) != len(given):
        return Sequence("list", None, machine.opaque(name, site, args))
    return Sequence("list", called) if items is not None else Sequence("list", None, called[0])


@handles("itertools.takewhile", "itertools.dropwhile", "itertools.filterfalse")
def _asked(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """Python asks a function about each element, and goes by its answer."""
    if len(args) != 2:
        return machine.opaque(name, site, args)
    element = parts.element(machine, site, args[1])
    if not (isinstance(args[0], Constant) and args[0].value is None):
        machine.test(site, "filter", machine.call(site, args[0], [element], {}))
    return Sequence("list", None, element)


@handles("itertools.cycle")
def _cycle(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The same elements over and over."""
    return Sequence("list", None, parts.element(machine, site, first_of(args)))


@handles("itertools.chain.from_iterable")
def _chained(
    machine: Interpreter, site: Site, name: str, args: list[Value], keywords: dict[str, Value]
) -> Value:
    """The elements of the containers in a container."""
    inner = _known(first_of(args))
    known = [_known(it) for it in inner or ()]
    if inner is not None and all(it is not None for it in known):
        return Sequence("list", [item for items in known for item in items or ()])
    container = parts.element(machine, site, first_of(args))
    return Sequence("list", None, parts.element(machine, site, container))
