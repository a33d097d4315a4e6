"""Code of other libraries in a file that imports JAX: a name alone says nothing of a value."""

import pytest

from .reading import found, found_of


@pytest.mark.parametrize("value", ["{'a': 1}", "dict(a=1)", "print", "len"])
@pytest.mark.parametrize(
    "owner", ["Options", "options", "Holder.chosen", "held.chosen", "Options()", "Derived"]
)
def test_an_operator_may_be_a_method_of_a_class_or_of_its_metaclass(owner: str, value: str):
    program = f"""
    class Meta(type):
        def __add__(self, other):
            return self(**other)

    class Options(metaclass=Meta):
        def __init__(self, **options):
            self.options = options

        def __add__(self, other):
            return type(self)(**self.options, **other)

    class Derived(Options):
        pass

    class Holder:
        chosen = Options

    def merged(options, held):
        options += {value}
        return {owner} + {value}
    """
    assert found("JT204", program) == []


@pytest.mark.parametrize(
    ("value", "tree"), [("2.0", "grads"), ("jnp.ones(3)", "grads"), ("{'b': 1}", "grads")]
)
def test_numbers_arrays_and_dicts_take_no_dict(value: str, tree: str):
    program = f"""
    def step():
        grads = {{"w": jnp.ones(3)}}
        return {value} * {tree}
    """
    assert found("JT204", program) == [3]


@pytest.mark.parametrize("method", ["all", "any", "max", "min", "sum", "prod", "nonzero"])
def test_a_method_without_arguments_makes_no_array_of_what_is_unknown(method: str):
    program = f"""
    def rows(query):
        for row in query.{method}():
            first, second = row
        return query.{method}()[0][1]
    """
    assert found("AX201", program) == []
    known = f"""
    def rows(x):
        return jnp.ones(3).{method}()[0][1]
    """
    assert bool(found("AX201", known)) == (method != "nonzero")  # which gives a tuple


def test_what_is_replaced_in_place_has_arguments_by_position():
    program = """
    def add(table, column):
        table.key._replace(column)
        table._replace(column=column)
        return table
    """
    assert found("DF104", program) == [3]


def test_an_object_of_a_subclass_of_a_named_tuple_has_attributes_of_its_own():
    program = """
    class Point(NamedTuple):
        x: int

    class Marked(Point):
        pass

    class Slotted(Point):
        __slots__ = ()

    def mark(a: Point, b: Marked, c: Slotted):
        a.note = 1
        b.note = 1
        c.note = 1
        b.x = 1
    """
    assert found_of("pytree", program) == [("PT204", 11), ("PT204", 13), ("PT204", 14)]
