"""A traced program as values and steps, each once for every place that it runs in.

A jaxpr shares bodies between calls, and copies values at every boundary. Here a function that is
called twice stands twice, so that facts about a value are facts about one value; and a value that
crosses a boundary unchanged (an argument of a call, what a loop closes over) is one `Value` on
both sides. What a boundary does change (the slice of a scan, the element of a `vmap`) is a new
`Value`, and the `Step` says how the two belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from ..finding import Place


@dataclass(eq=False, slots=True)
class Value:
    """An array somewhere in the program.

    `constant` is its contents where they are known while tracing (literals and captured arrays).
    `name` is what the user calls it: a path of an input (`params['w1']`), or empty.
    """

    aval: Any
    producer: Step | None = None
    constant: Any = None
    name: str = ""
    consumers: list[Step] = field(default_factory=list["Step"])

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return tuple(getattr(self.aval, "shape", ()))

    @property
    def dtype(self) -> Any:
        """Its dtype; also that of typed random keys."""
        return getattr(self.aval, "dtype", None)

    @property
    def is_constant(self) -> bool:
        """Whether its contents are known while tracing."""
        return self.constant is not None

    def __repr__(self) -> str:
        return f"Value({self.name or hex(id(self))}: {self.aval})"


@dataclass(eq=False, slots=True)
class Body:
    """A program inside of a step, or the whole one.

    `function` names it, `place` is where it is defined. `inputs` of a whole program are its flat
    arguments. `captured` are arrays that it holds as constants.
    """

    inputs: list[Value]
    outputs: list[Value]
    steps: list[Step]
    owner: Step | None = None
    function: str = ""
    place: Place | None = None
    captured: list[Value] = field(default_factory=list[Value])

    def walk(self) -> Iterator[Step]:
        """All steps, outer before inner, in the order of the program."""
        for step in self.steps:
            yield step
            for body in step.bodies:
                yield from body.walk()


@dataclass(eq=False, slots=True)
class Step:
    """An equation at one place of the running program.

    `kind` is "operation" for a primitive without a body, else how its bodies run:

    - "call": `bodies[0]` once, on the step's own inputs. Inputs and outputs are shared.
    - "scan", "while": see `Loop`. - "cond": each body is a branch; `inputs[0]` chooses.
    - "map": `vmap` (see `Mapping`). - "shard": `shard_map`; `axes` names what it divides.
    - "derive": `grad` and its kin (see `Derivation`). - "derivative": applies one.
    - "declare": names the axes of its input (`detail`), as the user wrote with `verax.axes`.
    - "opaque": bodies of a kind that nothing here understands.
    """

    primitive: str
    params: dict[str, Any]
    inputs: list[Value]
    outputs: list[Value]
    place: Place | None
    frames: tuple[Place, ...]
    within: Body
    # The instruction that made it, in code that is not JAX's: tells two calls in one line apart.
    call_site: Any = None
    # The whole stack; equal ones mean the same line of the same library, called again.
    stack: Any = None
    kind: str = "operation"
    bodies: list[Body] = field(default_factory=list[Body])
    detail: Any = None

    def __repr__(self) -> str:
        return f"Step({self.primitive}, {self.place})"

    def ancestors(self) -> Iterator[Step]:
        """The steps whose bodies this one is in, innermost first."""
        owner = self.within.owner
        while owner is not None:
            yield owner
            owner = owner.within.owner


@dataclass(eq=False, slots=True)
class Loop:
    """How a scan or while step and its bodies belong together.

    Constants are shared with the outside. `initial` values enter as the `carry` of the first
    iteration; `carried` is what an iteration hands to the next; `final` comes out. A scan cuts
    `scanned` into a `slices` element an iteration and stacks `stacks` into `stacked`. A while loop
    has `condition`, whose carry values are those of the body.
    """

    initial: list[Value]
    carry: list[Value]
    carried: list[Value]
    final: list[Value]
    closed_over: list[Value]
    scanned: list[Value] = field(default_factory=list[Value])
    slices: list[Value] = field(default_factory=list[Value])
    stacks: list[Value] = field(default_factory=list[Value])
    stacked: list[Value] = field(default_factory=list[Value])
    length: int | None = None
    reverse: bool = False
    unroll: int = 1
    condition: Value | None = None


@dataclass(eq=False, slots=True)
class Mapping:
    """How a `vmap` step and its body belong together.

    Pairs of an outer and an inner value, with the axis of the outer one that is mapped. Arguments
    that are broadcast (and what the function closes over) are shared.
    """

    mapped: list[tuple[Value, Value, int]]
    broadcast: list[Value]
    closed_over: list[Value]
    results: list[tuple[Value, Value, int | None]]
    size: int
    axis_name: Any
    in_axes: tuple[int | None, ...]
    out_axes: tuple[int | None, ...]
    arguments: tuple[str, ...]


@dataclass(eq=False, slots=True)
class Sharding:
    """How a `shard_map` step and its body belong together.

    Each pair of an outer and an inner value has, for each dimension, the mesh axes over which it
    is divided. A `pmap` is one over a mesh with one axis, which has a name if the user gave it one.
    """

    inputs: list[tuple[Value, Value, tuple[tuple[str, ...], ...]]]
    outputs: list[tuple[Value, Value, tuple[tuple[str, ...], ...]]]
    mesh: dict[str, int]
    made_by_pmap: bool = False
    is_named: bool = True

    @property
    def devices(self) -> int:
        """How many there are."""
        return prod(self.mesh.values())


@dataclass(eq=False, slots=True)
class Derivation:
    """How a differentiated function and the step around it belong together.

    `differentiated` pairs the outer argument with the value that the derivative is taken at; other
    operands are shared. The first `results` outputs are differentiated, the rest is auxiliary.
    `applied` are the steps that apply the derivative.
    """

    kind: str
    differentiated: list[tuple[Value, Value]]
    closed_over: list[Value]
    results: int
    argnums: Any
    arguments: tuple[str, ...]
    applied: list[Step] = field(default_factory=list[Step])


@dataclass(eq=False, slots=True)
class Program:
    """A whole traced program.

    `marked` are the leaves of a carry that a failing scan was `given` and that its body `handed
    on`: role, path and value.
    """

    body: Body
    marked: list[tuple[str, str, Value]] = field(default_factory=list[tuple[str, str, Value]])

    def walk(self) -> Iterator[Step]:
        """All steps, outer before inner, in the order of the program."""
        return self.body.walk()
