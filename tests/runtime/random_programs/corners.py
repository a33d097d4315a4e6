"""Programs that chance finds too seldom: nestings in which lanes and iterations interact."""

from __future__ import annotations

from . import grammar as g

INPUTS = [(a, 3 * a % g.MODULUS) for a in range(g.MODULUS)]
"""Different failures in the same program."""


def _assert(name: g.Name, operator: str, constant: int, **more: str) -> g.Assert:
    return g.Assert((g.Test(name, operator, constant),), ("a", "pair"), **more)


LARGEST = _assert("a", "<", 6, law="largest")
FIRST = _assert("a", "!=", 5, law="first")
BOTH = g.Assert((g.Test("a", "<", 6), g.Test("b", "!=", 2)), ("int", "b"), "largest")

REVERSIBLE = [
    # Lanes that fail in different iterations, in a loop around a vmap and the other way round.
    g.numbered((g.Scan((1, 2, 4), "b", False, "a", (g.Vmap((0, 3, 5), "a", (FIRST, LARGEST)),)),)),
    g.numbered((g.Vmap((0, 3, 5), "a", (g.Scan((1, 2, 4), "b", True, "a", (FIRST, BOTH)),)),)),
    # A failure in one lane, and the question in another: in straight code, and in a loop.
    g.numbered((g.Vmap((0, 3), "a", (FIRST, g.Ask("b"))), g.Ask("a"))),
    g.numbered((g.Vmap((0, 3), "a", (g.Fori(0, 2, None, "a", (g.Ask("b"), LARGEST)),)),)),
    # Branches that hold different assertions, taken by different lanes in different iterations.
    g.numbered(
        (
            g.Fori(
                1,
                3,
                None,
                "b",
                (g.Vmap((1, 4), "b", (g.Cond(g.Test("b", "<", 4), (FIRST,), (BOTH, LARGEST)),)),),
            ),
        )
    ),
]

OTHERS = [
    # Lanes that leave a loop after different numbers of iterations, by a condition that asserts.
    g.numbered(
        (
            g.Vmap(
                (0, 1, 4),
                "a",
                (g.While(4, (FIRST, g.Ask("b")), g.Test("a", "<", 6), "a", (BOTH, g.Ask("b"))),),
            ),
        )
    ),
    # The same, around a vmap of its own.
    g.numbered(
        (
            g.Vmap(
                (0, 2),
                "b",
                (g.Fori(0, 1, "b", "b", (g.Vmap((0, 5), "a", (LARGEST, g.Ask("a"), FIRST)),)),),
            ),
        )
    ),
]
