"""Numbers of objects, for texts that must tell one object from another.

An address (`id`) would do for that, but it differs from run to run, and with it every text that
holds it and every order that follows from such texts. A number is given when somebody first asks
for it, which happens in the same order in every run. Numbers as texts are in the order of numbers,
and none is a text that a program could index something with: `.00000012`.
"""

from __future__ import annotations

# An object is kept as long as its number, since another one could get its address.
_NUMBERED: dict[int, tuple[object, str]] = {}


def number_of(thing: object) -> str:
    """The number of an object, the same until `start`."""
    found = _NUMBERED.get(id(thing))
    if found is None:
        found = _NUMBERED[id(thing)] = (thing, f".{len(_NUMBERED):08}")
    return found[1]


def start() -> None:
    """Forget all numbers: what a file tells must not depend on what was audited before it."""
    _NUMBERED.clear()
