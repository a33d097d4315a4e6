"""Assertions inside functions with rules of their own: they come out, and the rules still hold.

Each rule is deliberately wrong, so that a result shows whether it was used.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.scipy.sparse.linalg import cg

from verax import as_result_function, runtime_assert, with_runtime_assertions

from .cases import Table, compare, fails, passes, small

WRONG = 100.0


@jax.custom_jvp
def square(x):
    """With ten times WRONG as its derivative."""
    small(x)
    return x**2


@square.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    return square(x), 10 * WRONG * t


@jax.custom_vjp
def cube(x):
    small(x)
    return x**3


def _cube_forward(x):
    small(x, name="forward")
    return cube(x), x


def _cube_backward(x, cotangent):
    return (WRONG * x * cotangent,)


cube.defvjp(_cube_forward, _cube_backward)


@jax.custom_vjp
def plain_cube(x):
    """Its rule computes without calling it, and asserts nothing."""
    small(x)
    return x**3


plain_cube.defvjp(lambda x: (x**3, x), _cube_backward)


@jax.custom_jvp
def clipped(x, limit):
    """Two arguments, one of them an integer."""
    small(x)
    return jnp.minimum(x, limit.astype(x.dtype))


clipped.defjvp(lambda primals, tangents: (clipped(*primals), WRONG * tangents[0]))

table = Table()
NINE = fails("x is 9.0", fix=9.0)

table(9.0, calm=(2.0,), expect=[NINE], name="custom_jvp")(lambda x: square(x))
table(9.0, calm=(2.0,), expect=[NINE], name="custom_vjp")(lambda x: cube(x))
table(9.0, 3, calm=(2.0, 3), expect=[NINE], name="custom_jvp_two_arguments")(
    lambda x, n: clipped(x, n)
)


@table([1.0, 7.0, 9.0], calm=([1.0, 2.0, 3.0],), expect=[
    fails("x is 7.0", iteration=[1], fix=7.0), fails("x is 7.0", iteration=[1], fix=7.0)
])  # fmt: skip
def both_in_scan(xs):
    return lax.scan(lambda total, x: (total + square(x) + cube(x), None), 0.0, xs)[0]


@table(9.0, expect=[fails("x is 9.0")])
def grad_of_custom_jvp(x):
    return jax.grad(square)(x)


@table(9.0, expect=[fails("x is 9.0")])
def jvp_of_custom_jvp(x):
    return jax.jvp(square, (x,), (x,))


@table(9.0, expect=[fails("forward is 9.0"), fails("x is 9.0")])
def grad_of_custom_vjp(x):
    """What runs is the rule's forward pass, with its own assertion and that of the call in it."""
    return jax.grad(cube)(x)


@table([1.0, 7.0], expect=[
    fails("forward is 7.0", iteration=[1]), fails("x is 7.0", iteration=[1])
])  # fmt: skip
def grad_of_custom_vjp_in_scan(xs):
    return jax.grad(lambda xs: lax.scan(lambda c, x: (c + cube(x), None), 0.0, xs)[0])(xs)


@table([1.0, 7.0], expect=[fails("x is 7.0", iteration=[1])])
def grad_of_custom_jvp_in_scan(xs):
    return jax.grad(lambda xs: lax.scan(lambda c, x: (c + square(x), None), 0.0, xs)[0])(xs)


@table([1.0, 7.0], expect=[fails("x is 7.0", predicate=[True, False], lane=[1])])
def vmap_of_grad_of_custom_jvp(xs):
    return jax.vmap(jax.grad(square))(xs)


@table(True, 9.0, expect=[fails("x is 9.0")])
def custom_jvp_in_cond(chosen, x):
    return lax.cond(chosen, square, lambda x: x, x)


@table([9.0, 2.0], expect=[
    fails("b is [9. 2.]", predicate=[False, True]), passes(2)
])  # fmt: skip
def linear_solve(b):
    matrix = jnp.array([[2.0, 0.0], [0.0, 4.0]])

    def solve(matvec, b):
        small(b, name="b")
        x = b / jnp.diagonal(matrix)
        small(x)
        return x

    return lax.custom_linear_solve(lambda x: matrix @ x, b, solve, solve)


@table(9.0, expect=[fails("x is 9.0")])
def root(x):
    def solve(f, guess):
        small(guess)
        return guess - f(guess)

    return lax.custom_root(lambda y: y - x, x, solve, lambda g, y: y / g(1.0))


@table.in_all_modes()
def test_custom_rules(case, mode):
    case.check(mode)


OUTSIDE = {
    # A collected function is differentiated: its value, derivative by the rule, and assertions.
    "custom_jvp": (square, 9.0, 10 * WRONG),
    "custom_vjp": (cube, 9.0, WRONG * 9),
    "custom_vjp_plain": (plain_cube, 9.0, WRONG * 9),
    "in_jit": (lambda x: jax.jit(cube)(x), 9.0, WRONG * 9),
    "in_remat": (lambda x: jax.checkpoint(square)(x), 9.0, 10 * WRONG),
    "in_cond": (lambda x: lax.cond(x > 5, cube, lambda x: x, x), 9.0, WRONG * 9),
}


@pytest.mark.parametrize(("program", "x", "derivative"), OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_rule_applies_to_a_later_gradient(program, x, derivative, jit):
    checked = jax.value_and_grad(with_runtime_assertions(program), has_aux=True)
    (value, assertions), gradient = jit(checked)(x)
    assert (value, gradient) == (program(jnp.array(x)), derivative)
    assert [str(a).splitlines()[0] for a in assertions] == ["x is 9.0"]


@pytest.mark.parametrize("length", [1, 3])
@pytest.mark.parametrize("rule", [square, cube], ids=["custom_jvp", "custom_vjp"])
def test_rule_applies_to_a_later_gradient_of_a_scan(rule, length):
    def program(x):
        return lax.scan(lambda c, _: (c + rule(x), None), 0.0, length=length)[0]

    checked = jax.value_and_grad(with_runtime_assertions(program), has_aux=True)
    (value, (assertion,)), gradient = jax.jit(checked)(9.0)
    assert value == length * rule(jnp.array(9.0))
    assert gradient == length * {square: 10 * WRONG, cube: WRONG * 9}[rule]
    compare(assertion, fails("x is 9.0", iteration=[0], fix=9.0))


def test_rule_applies_to_a_later_jvp():
    checked = with_runtime_assertions(square)
    value, tangent, (assertion,) = jax.jvp(checked, (9.0,), (2.0,), has_aux=True)
    assert (value, tangent) == (81, 20 * WRONG)
    compare(assertion, fails("x is 9.0", fix=9.0))


def test_rule_applies_to_a_later_vmap_of_gradients():
    checked = jax.vmap(jax.grad(with_runtime_assertions(cube), has_aux=True))
    gradient, (assertion,) = checked(jnp.array([1.0, 9.0]))
    np.testing.assert_array_equal(gradient, [WRONG, 9 * WRONG])
    compare(assertion, fails("x is 9.0", predicate=[True, False], lane=[1], fix=9.0))


def test_nondifferentiable_argument_keeps_its_place():
    checked = jax.grad(with_runtime_assertions(clipped), has_aux=True)
    gradient, (assertion,) = jax.jit(checked)(9.0, jnp.array(3))
    assert gradient == WRONG
    compare(assertion, fails("x is 9.0", fix=9.0))


def program_named(name):
    return next(case.program for case in table.cases if case.name == name)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_gradient_of_a_linear_solve(where):
    """The rule transposes the solve, and asserts no more than the solve itself."""
    program = program_named("linear_solve")

    def loss(b):
        return program(b).sum()

    if where == "inside":
        checked = with_runtime_assertions(jax.grad(loss))
    else:
        checked = jax.grad(with_runtime_assertions(loss), has_aux=True)
    gradient, assertions = jax.jit(checked)(jnp.array([9.0, 2.0]))
    np.testing.assert_array_equal(gradient, [0.5, 0.25])
    assert len(assertions) == 2
    compare(assertions[0], fails("b is [9. 2.]", predicate=[False, True]))
    compare(assertions[1], passes(2))


def test_forward_derivative_of_a_linear_solve_asserts_nothing_about_tangents():
    program = program_named("linear_solve")
    b = jnp.array([1.0, 2.0])
    run = with_runtime_assertions(lambda b: jax.jvp(program, (b,), (10 * b,)))
    (value, tangent), assertions = run(b)
    np.testing.assert_array_equal(value, [0.5, 0.5])
    np.testing.assert_array_equal(tangent, [5.0, 5.0])
    assert len(assertions) == 2
    for assertion in assertions:
        compare(assertion, passes(2))


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_matrix_of_a_solver_asserts(jit):
    """The solver calls the function that stands for the matrix."""

    def program(b):
        def matrix(x):
            runtime_assert(x.max() < 5, "x is {x}", {"x": x.max()})
            return x * 2

        return cg(matrix, b, maxiter=2)[0]

    value, assertions = jit(with_runtime_assertions(program))(jnp.array([2.0, 20.0]))
    np.testing.assert_allclose(value, [1.0, 10.0], rtol=1e-5)
    # It is first called with a guess of zero, and in each iteration with a direction.
    guess, *directions = assertions
    compare(guess, passes())
    assert [str(a).splitlines()[0] for a in directions if a.failed] == ["x is 20.0"]
    _, calm = jit(with_runtime_assertions(program))(jnp.array([0.5, 1.0]))
    assert [a.valid for a in calm] == [True] * len(assertions)


def test_transposing_a_function_keeps_its_derivative():
    """Of what is transposed nothing runs forward, so nothing can be said about its values."""

    def double(x):
        small(x)
        return x * 2

    run = with_runtime_assertions(lambda x: jax.linear_transpose(double, x)(x))
    (value,), assertions = run(jnp.array(9.0))
    assert (value, assertions) == (18, [])


@jax.custom_batching.custom_vmap
def doubled(x):
    small(x)
    return x * 2


@doubled.def_vmap
def _(axis_size, in_batched, x):
    return x * WRONG, True


def test_custom_vmap_unbatched():
    value, (assertion,) = with_runtime_assertions(doubled)(jnp.array(9.0))
    assert value == 18
    compare(assertion, fails("x is 9.0", fix=9.0))


def test_custom_vmap_rule_is_used_by_a_later_vmap():
    value, (assertion,) = jax.vmap(with_runtime_assertions(doubled))(jnp.array([1.0, 9.0]))
    np.testing.assert_array_equal(value, [WRONG, 9 * WRONG])
    compare(assertion, fails("x is 9.0", predicate=[True, False], lane=[1], fix=9.0))


def test_custom_vmap_rule_replaces_what_it_maps():
    """Under a `vmap` inside, the rule is the program, and it asserts nothing."""
    value, assertions = with_runtime_assertions(jax.vmap(doubled))(jnp.array([1.0, 9.0]))
    np.testing.assert_array_equal(value, [WRONG, 9 * WRONG])
    assert assertions == []


def test_custom_vmap_in_scan():
    def program(xs):
        return lax.scan(lambda c, x: (c + doubled(x), None), 0.0, xs)[0]

    value, (assertion,) = jax.jit(with_runtime_assertions(program))(jnp.array([1.0, 9.0]))
    assert value == 20
    compare(assertion, fails("x is 9.0", iteration=[1], fix=9.0))


def test_root_is_differentiated_as_before():
    program = program_named("root")
    checked = jax.grad(with_runtime_assertions(program), has_aux=True)
    gradient, assertions = jax.jit(checked)(9.0)
    assert gradient == jax.grad(program)(9.0) == 1
    assert [a.failed for a in assertions] == [True]


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_gradient_around_a_collected_custom_vjp_with_an_array_of_conditions(jit):
    @jax.custom_vjp
    def squares(x):
        runtime_assert(x > 0, "x is {x}", {"x": x})
        return jnp.sum(x * x)

    squares.defvjp(lambda x: (squares(x), x), lambda x, ct: (9 * ct * jnp.ones_like(x),))

    def loss(x):
        result = jit(as_result_function(squares))(x)
        return result.value, result

    gradient, result = jax.grad(loss, has_aux=True)(jnp.array([1.0, -2.0]))
    np.testing.assert_array_equal(gradient, [9.0, 9.0])
    assert str(result.failed_assertions[0]).splitlines()[0] == "x is [ 1. -2.]"


@pytest.mark.parametrize("jit", [lambda f: f, jax.jit], ids=["eager", "jitted"])
def test_custom_vjp_that_closes_over_an_array(jit):
    weights = jnp.array([2.0, 3.0])

    @jax.custom_vjp
    def weighted(x):
        runtime_assert(jnp.all(x > 0), "x is {x}", {"x": x})
        return jnp.vdot(weights, x)

    weighted.defvjp(lambda x: (weighted(x), None), lambda _, ct: (10 * ct * weights,))

    x = jnp.array([1.0, -2.0])
    collected = jit(with_runtime_assertions(weighted))
    np.testing.assert_array_equal(jax.grad(lambda x: collected(x)[0])(x), [20.0, 30.0])
    gradient, (assertion,) = jit(with_runtime_assertions(jax.grad(weighted)))(x)
    np.testing.assert_array_equal(gradient, [20.0, 30.0])
    assert assertion.failed
