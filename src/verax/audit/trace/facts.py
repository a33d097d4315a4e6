"""All that the trace engine knows about a program, for rules to read.

Each domain is computed when a rule first asks for it, and once. A domain maps every `Value` of the
program to what it knows of it, and keeps the events that it met on the way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..finding import Place
from .sources import Sources

# Rules name this class, and `verax rules` reads them without JAX.
if TYPE_CHECKING:
    from .axes import AxisAnalysis
    from .custom_rules import CustomRule
    from .entry import Traced
    from .failures import Failure
    from .gradients import Gradients
    from .keys import Keys
    from .meaning import Meanings
    from .program import Program, Step, Value
    from .ranges import Ranges
    from .sections.lines import Node, Order
    from .variation import Variation


class Facts:
    """Facts about one traced function.

    `axes` and `ranges` are what the user declared of the parameters: trees like the arguments,
    with axis names ("batch time feat") and pairs (low, high) at the leaves.
    """

    def __init__(
        self, traced: Traced, axes: Mapping[str, Any] | None, ranges: Mapping[str, Any] | None
    ):
        self.traced: Traced = traced
        self.declared_axes: dict[str, Any] = dict(axes or {})
        self.declared_ranges: dict[str, Any] = dict(ranges or {})
        self.sources: Sources = Sources()

    @property
    def program(self) -> Program:
        """The program, as far as it could be traced."""
        return self.traced.program

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every step of the program, outer before inner."""
        return tuple(self.program.walk())

    @cached_property
    def live(self) -> frozenset[Value]:
        """The values on which some output depends."""
        from .liveness import live_values

        return live_values(self.program)

    @cached_property
    def axes(self) -> AxisAnalysis:
        """What each dimension of each value means."""
        from .axes import axes_of

        return axes_of(self)

    @cached_property
    def meaning(self) -> Meanings:
        """What values mean: probabilities, one-hot, normalised by which statistics."""
        from .meaning import meanings_of

        return meanings_of(self)

    @cached_property
    def variation(self) -> Variation:
        """Over which loops and mapped axes each value changes."""
        from .variation import Variation

        return Variation(self.program)

    @cached_property
    def keys(self) -> Keys:
        """Which random key is which, and what consumes it."""
        from .keys import Keys

        return Keys(self.program, self.variation)

    @cached_property
    def ranges(self) -> Ranges:
        """The interval of every value."""
        from .ranges import Ranges
        from .ranges.declared import declared_ranges

        return Ranges(self.program, declared_ranges(self.program, self.declared_ranges))

    @cached_property
    def order(self) -> Order:
        """The position of every step, and how far each value reaches."""
        from .sections.lines import Order

        return Order(self.program)

    @cached_property
    def lines(self) -> list[Node]:
        """The program as lines of the user's code, nested as calls are."""
        from .sections.lines import lines_of

        return lines_of(self, self.order)

    @cached_property
    def failure(self) -> Failure | None:
        """Why the program could not be traced, if it could not."""
        from .failures import failure_of

        return failure_of(self)

    @cached_property
    def gradients(self) -> Gradients:
        """Where gradients flow in each differentiated function."""
        from .gradients import Gradients

        return Gradients(self.program)

    @cached_property
    def custom_rules(self) -> tuple[CustomRule, ...]:
        """The derivatives that the user wrote, and whether they are right."""
        from .custom_rules import custom_rules

        return tuple(custom_rules(self))

    def is_users(self, step: Step) -> bool:
        """Whether the user's own code asked for a step, rather than a library on its own.

        JAX is no library here: what `jnp.sum` does, its caller asked for.
        """
        if step.call_site is None:
            return step.place is not None
        return self.traced.user_code.owns(step.call_site[0].co_filename)

    def is_in_users_function(self, step: Step) -> bool:
        """Whether the user asked for a step, and not for a function of JAX that takes it inside."""
        body = step.within
        while body.place is None and body.owner is not None:
            if body.owner.kind in ("call", "scan", "while", "cond") and body.function:
                return False
            body = body.owner.within
        return self.is_users(step)

    def place(self, step: Step) -> Place:
        """Where a step is, in the user's code: at least the function that was audited."""
        return step.place or self.traced.place or Place("<unknown>", 1)
