"""What a program does, as reading it tells: the first three sections of a report."""

from textwrap import dedent

from verax.audit.report import Flow, FlowStep, Transformation
from verax.audit.source.analyse import audit_text

PROGRAM = """\
from typing import NamedTuple

import jax
import jax.numpy as jnp


class State(NamedTuple):
    x: jax.Array
    v: jax.Array


def forces(x):
    return -x


def move(state, _):
    v = state.v + forces(state.x)
    return State(state.x + v, v), v


@jax.jit
def run(x):
    start = State(x, jnp.zeros(3))
    last, speeds = jax.lax.scan(move, start, None, length=4)
    return last, speeds.max()


def main():
    return run(jnp.ones(3))


def again():
    return run(jnp.zeros(3))
"""


def report(program: str = PROGRAM):
    return audit_text(dedent(program), strict=True)


def flow(name: str) -> Flow:
    return next(it for it in report().data_flow if it.entry == name)


def line(flow: Flow, number: int) -> FlowStep:
    steps = (step for outer in flow.steps for _, step in outer.walk())
    return next(step for step in steps if step.place and step.place.line == number)


def names(flow: Flow, ids: tuple[str, ...]) -> list[str]:
    return [flow.value_names()[it] for it in ids]


def test_parts_have_names_of_their_own():
    run = flow("run")
    assert [it.name for it in run.inputs] == ["x"]
    assert [it.name for it in line(run, 23).produces] == ["start.x", "start.v"]
    assert [it.name for it in line(run, 24).produces] == ["last.x", "last.v", "speeds"]
    outputs = [(it.name, it.tensor.shape) for it in run.outputs]
    assert outputs == [("output[0].x", (3,)), ("output[0].v", (3,)), ("output[1]", ())]


def test_what_is_returned_is_not_made_again():
    """So that nothing is used by what stands above it."""
    run = flow("run")
    (maximum,) = line(run, 25).produces
    assert (maximum.name, maximum.tensor.shape) == ("", ())
    assert names(run, line(run, 25).consumes) == ["last.x", "last.v", "speeds"]
    assert names(run, line(run, 24).consumed_by) == ["line 25"]
    assert line(run, 25).consumed_by == ()


def tree(node: Transformation) -> tuple[object, ...]:
    return (node.kind, node.name, *map(tree, node.children))


def test_a_transformation_is_shown_once_wherever_it_is_called_from():
    assert [tree(it) for it in report().transformation_stack] == [("jit", "run", ("scan", "move"))]


def test_both_sides_of_a_boundary_belong_together():
    """Also where one object stands twice in a tree."""
    program = """
    import jax
    import jax.numpy as jnp
    from typing import NamedTuple

    class Pair(NamedTuple):
        a: dict
        b: dict
        c: jax.Array

    @jax.jit
    def same(x):
        zeros = {"w": jnp.zeros(2)}
        return Pair(zeros, zeros, x)

    out = same(jnp.ones(5))
    """
    out = [it for it in report(program).shape_trace if it.role == "out"]
    rows = [it for it in out if it.place and it.place.line == 16]
    assert [(it.name, str(it.before), str(it.after)) for it in rows] == [
        ("result.a['w']", "f32[2]", "f32[2]"),
        ("result.b['w']", "f32[2]", "f32[2]"),
        ("result.c", "f32[5]", "f32[5]"),
    ]


def test_a_boundary_is_told_once_where_most_is_known_of_it():
    rows = [it for it in report().shape_trace if it.boundary == "scan of move"]
    told = [(it.role, it.name, str(it.before)) for it in rows]
    assert told == [("carry", "carry.x", "f32[3]"), ("carry", "carry.v", "f32[3]")]


def test_a_derivative_has_nothing_on_the_other_side():
    program = """
    import jax
    import jax.numpy as jnp

    def loss(w, x):
        return jnp.sum(w["a"] * x)

    slope = jax.grad(loss)({"a": jnp.ones(3)}, jnp.ones(3))
    """
    rows = [it for it in report(program).shape_trace if it.role == "derivative"]
    assert [(it.name, it.before, str(it.after)) for it in rows] == [("result['a']", None, "f32[3]")]


def test_loops_name_their_body():
    boundaries = dict.fromkeys((it.boundary, it.role) for it in report().shape_trace)
    assert ("scan of move", "carry") in boundaries
