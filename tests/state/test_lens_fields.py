"""Fields and properties that are lenses on the class and values on an instance."""

import copy
import dataclasses
import pickle

import jax
import pytest

from verax.state import HasLensFields, Lens, LensField, dataclass, lens, lens_field, lens_property


@dataclass
class Point(HasLensFields):
    x: LensField[float]
    y: LensField[float] = lens_field(default=0.0)
    name: LensField[str] = lens_field(default="p", static=True)
    plain: int = 3


@dataclass(slots=True)
class Slotted(HasLensFields):
    x: LensField[float]
    names: LensField[list] = lens_field(default_factory=list)


@dataclass
class Point3(Point):
    z: LensField[float] = lens_field(default=0.0)


@dataclass
class Body:
    point: Point
    table: dict

    @lens_property
    def x(self):
        """Where it is."""
        return self.point.x

    @lens_property
    def twice(self):
        return 2 * self.point.x


@pytest.mark.parametrize("cls", [Point, Slotted, Point3])
def test_a_lens_on_the_class_and_a_value_on_the_instance(cls):
    one = cls(1.0)
    assert one.x == 1.0
    assert isinstance(cls.x, Lens)
    assert cls.x.get(one) == 1.0
    assert cls.x.set(one, 5.0) == cls(5.0)
    assert type(cls.x.set(one, 5.0)) is cls
    assert cls.x == cls.x


def test_defaults_and_default_factories_are_values():
    assert (Point(1.0).y, Point(1.0).name, Slotted(1.0).names) == (0.0, "p", [])
    assert [one.default for one in dataclasses.fields(Point)][1:] == [0.0, "p", 3]


def test_ordinary_fields_are_left_alone():
    assert Point.plain == 3


def test_static_lens_fields_are_structure():
    assert jax.tree.leaves(Point(1.0)) == [1.0, 0.0, 3]
    assert Point.name.set(Point(1.0), "q").name == "q"


@pytest.mark.parametrize("one", [Point(1.0), Slotted(1.0, ["a"]), Point3(1.0, z=3.0)])
def test_copies_and_transformations(one):
    assert copy.copy(one) == copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one
    assert jax.tree.map(lambda leaf: leaf, one) == one
    assert dataclasses.replace(one, x=9.0).x == 9.0


def test_a_field_that_the_constructor_does_not_take():
    @dataclass
    class Counted(HasLensFields):
        x: LensField[float]
        count: LensField[int] = lens_field(default=7, init=False)

    assert Counted(1.0).count == 7
    assert Counted.x.set(Counted(1.0), 2.0).count == 7


def test_a_subclass_may_declare_a_field_again():
    @dataclass
    class Other(Point):
        x: LensField[int]

    assert Other(4).x == 4
    assert Other.x.set(Other(4), 5) == Other(5)


def test_instances_stay_frozen():
    for one in (Point(1.0), Slotted(1.0)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            one.x = 2.0


def test_a_class_that_forgot_the_base_is_told():
    with pytest.raises(TypeError, match=r"Forgetful\.x .* class Forgetful\(HasLensFields\)"):

        @dataclass
        class Forgetful:
            x: LensField[float] = lens_field(default=0.0)


def test_lens_properties():
    body = Body(Point(1.0), {})
    assert body.x == 1.0
    assert Body.x.set(body, 5.0) == Body(Point(5.0), {})
    assert lens(lambda b: b.x).set(body, 5.0) == Body(Point(5.0), {})
    assert Body.twice.get(body) == 2.0
    with pytest.raises(ValueError, match=r"Body\.twice at .* cannot set"):
        Body.twice.set(body, 5.0)
    assert vars(Body)["x"].__doc__ == "Where it is."
