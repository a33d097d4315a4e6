# pyright: reportUnnecessaryTypeIgnoreComment=true
"""What an editor infers about states and lenses."""

from collections.abc import Iterator
from typing import Any, Generic, TypeGuard, TypeVar, assert_type

import jax
from jax import Array

from verax.state import (
    BoundLens,
    ConstantLens,
    HasLensFields,
    HasScatterArgs,
    IdentityLens,
    LambdaLens,
    Lens,
    LensField,
    PyTreeDef,
    ScatterArgs,
    SupportsTreeMatch,
    View,
    all_isinstance_lens,
    all_where_lens,
    bind,
    dataclass,
    field,
    isin,
    kahan_summation,
    key_chain,
    lens,
    lens_field,
    lens_property,
    no_post_init,
    skip_post_init_if_disabled,
    tree_concat,
    tree_map,
    tree_scatter_set,
    tree_stack,
    tree_structure,
    tree_where_broadcast_last,
    tree_zeros_like,
    view,
)

T = TypeVar("T")


@dataclass
class Atoms:
    position: Array
    charge: float = 0.0
    names: tuple[str, ...] = field(static=True, default=())
    history: list[float] = field(default_factory=list[float])


@dataclass(kw_only=True, slots=True)
class State(Generic[T]):
    atoms: Atoms
    extra: T
    max_edges: int = field(static=True)

    @lens_property
    def charge(self) -> float:
        return self.atoms.charge

    @skip_post_init_if_disabled
    def __post_init__(self) -> None:
        pass


@dataclass
class Point(HasLensFields):
    x: LensField[float]
    y: LensField[float] = lens_field(default=0.0)
    name: LensField[str] = lens_field(static=True, kw_only=True)


def dataclasses(x: Array) -> None:
    atoms = Atoms(x, 1.0, names=("a",))
    assert_type(atoms.names, tuple[str, ...])
    assert_type(State(atoms=atoms, extra=1, max_edges=3).extra, int)
    Atoms()  # pyright: ignore[reportCallIssue]
    Atoms(x, charge="1")  # pyright: ignore[reportArgumentType]
    State(atoms, 1, 3)  # pyright: ignore[reportCallIssue]
    atoms.charge = 2.0  # pyright: ignore[reportAttributeAccessIssue]
    with no_post_init():
        pass


def lenses(state: State[int], x: Array) -> None:
    edges = lens(lambda s: s.max_edges, cls=State[int])
    assert_type(edges, Lens[State[int], int])
    assert_type(edges.get(state), int)
    assert_type(edges(state), int)
    assert_type(edges.set(state, 4), State[int])
    edges.set(state, "4")  # pyright: ignore[reportArgumentType]
    assert_type(edges.apply(state, lambda n: n + 1), State[int])
    lens(lambda s: s.no_field, cls=State[int])  # pyright: ignore[reportAttributeAccessIssue]

    def charge_of(state: State[int]) -> float:
        return state.atoms.charge

    assert_type(lens(charge_of), Lens[State[int], float])
    pair = lens(lambda s: (s.max_edges, s.atoms.charge), cls=State[int])
    assert_type(pair, Lens[State[int], tuple[int, float]])

    atoms = lens(lambda s: s.atoms, cls=State[int])
    assert_type(atoms.focus(lambda a: a.position), Lens[State[int], Array])
    assert_type(atoms.nest(lens(lambda a: a.charge, cls=Atoms)), Lens[State[int], float])
    assert_type(atoms.at(0, mode="drop"), Lens[State[int], Atoms])
    assert_type(atoms.at(0, {"mode": "drop"}), Lens[State[int], Atoms])
    atoms.at(0, mood="drop")  # pyright: ignore[reportCallIssue]
    assert_type(atoms.merge(edges), Lens[State[int], tuple[Atoms, int]])

    bound = bind(state)
    assert_type(bound, BoundLens[State[int], State[int]])
    assert_type(bound.focus(lambda s: s.atoms.charge).set(2.0), State[int])
    assert_type(bind(state, edges).get(), int)
    assert_type(atoms.bind(state).at(1).get(), Atoms)
    assert_type(bind(state, lambda s: s.atoms).focus(lambda a: a.charge).get(), float)

    count = view(lambda s: len(s.atoms.history), cls=State[int])
    assert_type(count, View[State[int], int])
    assert_type(count(state), int)
    count.set(state, 3)  # pyright: ignore[reportAttributeAccessIssue]

    def read(state: State[int]) -> float:
        return float(state.max_edges)

    def write(state: State[int], value: float) -> State[int]:
        return edges.set(state, int(value))

    assert_type(LambdaLens(read, write), LambdaLens[State[int], float])
    same: Lens[int, int] = IdentityLens[int]()
    fixed: Lens[State[int], int] = ConstantLens(3)
    print(same, fixed)
    assert_type(all_isinstance_lens(Atoms), Lens[Any, tuple[Atoms, ...]])

    def is_atoms(part: object) -> TypeGuard[Atoms]:
        return isinstance(part, Atoms)

    assert_type(all_where_lens(is_atoms), Lens[Any, tuple[Atoms, ...]])


def lens_fields(state: State[int]) -> None:
    point = Point(1.0, name="p")
    assert_type(point.x, float)
    assert_type(Point.x, Lens[Point, float])
    assert_type(Point.name.set(point, "q"), Point)
    Point("1.0", name="p")  # pyright: ignore[reportArgumentType]
    assert_type(state.charge, float)


def trees(x: Array, tree: dict[str, Array]) -> None:
    assert_type(tree_concat(tree, tree), dict[str, Array])
    assert_type(tree_stack(tree, tree), dict[str, Array])
    assert_type(tree_zeros_like(tree), dict[str, Array])
    assert_type(tree_map(lambda a: a + 1, tree), dict[str, Array])
    assert_type(tree_where_broadcast_last(x, tree, tree), dict[str, Array])
    options: ScatterArgs = {"mode": "drop", "unique_indices": True}
    assert_type(tree_scatter_set(tree, tree, x, options), dict[str, Array])
    assert_type(tree_structure(tree), PyTreeDef[dict[str, Array]])
    assert_type(tree_structure(tree).unflatten([x]), dict[str, Array])
    assert_type(kahan_summation(tree, tree), tuple[dict[str, Array], dict[str, Array]])
    assert_type(isin(x, x, 3), Array)
    keys: Iterator[Array] = key_chain(jax.random.key(0), (2,))
    print(keys)


class Aligned:
    def __tree_match__(self, *others: "Aligned") -> tuple["Aligned", ...]:
        return (self, *others)

    @property
    def scatter_args(self) -> ScatterArgs:
        return {"mode": "drop"}


matching: SupportsTreeMatch = Aligned()
scattering: HasScatterArgs = Aligned()
