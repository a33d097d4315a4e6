"""Assertions under differentiation: the forward pass's come out, none lost, none doubled."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from verax import with_runtime_assertions
from verax.runtime import LARGEST

from .cases import Expected, Table, compare, compare_trees, fails, passes, small

XS = jnp.array([1.0, 7.0, 9.0, 6.0])
FAILS = fails("x is 7.0", iteration=[1], fix=7.0)


def straight(xs):
    small(xs[1])
    return (xs**2).sum()


def scan(xs):
    def body(total, x):
        small(x)
        return total * 2 + x**2, x**2

    total, ys = lax.scan(body, 0.0, xs)
    return total + ys.sum()


def scan_of_carry(xs):
    """What is asserted depends on what is differentiated: 1, 9, 27, 39."""

    def body(total, x):
        small(total, law=LARGEST)
        return total * 2 + x, None

    return lax.scan(body, xs[0], xs[1:])[0] ** 2


def nested_scan(xs):
    def outer(total, row):
        def inner(total, x):
            small(x)
            return total + x * row[0], None

        return lax.scan(inner, total, row)

    return lax.scan(outer, 0.0, xs.reshape(2, 2))[0]


def fori(xs):
    def body(i, total):
        small(xs[i])
        return total * 2 + xs[i] ** 2

    return lax.fori_loop(0, 4, body, 0.0)


def branch(xs):
    def large(x):
        small(x)
        return x**3

    return lax.cond(xs[1] > 5, large, lambda x: x, xs[1])


def branch_in_scan(xs):
    def body(total, x):
        def large(x):
            return (small(x), x**2)[1]

        return total + lax.cond(x > 6, large, lambda x: x, x), None

    return lax.scan(body, 0.0, xs)[0]


def remat(xs):
    return jax.checkpoint(scan)(xs)


def remat_in_scan(xs):
    @jax.checkpoint
    def body(total, x):
        small(x)
        return total * jnp.sin(x) + x**2, None

    return lax.scan(body, 0.0, xs)[0]


def remat_with_policy(xs):
    policy = jax.checkpoint_policies.everything_saveable
    return jax.checkpoint(lambda xs: jnp.sin(scan(xs)) + straight(xs), policy=policy)(xs)


def remat_that_saves_dots(xs):
    @partial(jax.checkpoint, policy=jax.checkpoint_policies.dots_saveable)
    def one(xs):
        small(xs[1])
        return jnp.sin(jnp.dot(xs, xs))

    return one(xs) + 1


def jitted(xs):
    return jax.jit(scan)(xs)


def mapped(xs):
    return lax.map(lambda x: (small(x), x**2)[1], xs).sum()


def vmapped(xs):
    return jax.vmap(lambda x: (small(x), x**3)[1])(xs).sum()


LANES = fails("x is 7.0", predicate=[True, False, False, False], lane=[1], fix=7.0)

# program: the assertions that it holds, the same under any derivative.
PROGRAMS = {
    straight: [fails("x is 7.0", fix=7.0)],
    scan: [FAILS],
    scan_of_carry: [fails("x is 9.0", iteration=[1], fix=27.0)],
    nested_scan: [fails("x is 7.0", iteration=[0, 1], fix=7.0)],
    fori: [FAILS],
    branch: [fails("x is 7.0", fix=7.0)],
    branch_in_scan: [FAILS],
    remat: [FAILS],
    remat_in_scan: [FAILS],
    remat_with_policy: [FAILS, fails("x is 7.0", fix=7.0)],
    remat_that_saves_dots: [fails("x is 7.0", fix=7.0)],
    jitted: [FAILS],
    mapped: [FAILS],
    vmapped: [LANES],
}


def jvp(f):
    return lambda xs: jax.jvp(f, (xs,), (jnp.ones_like(xs),))


def vjp(f):
    def run(xs):
        out, pull_back = jax.vjp(f, xs)
        return out, pull_back(jnp.ones_like(out))

    return run


def linearize(f):
    def run(xs):
        out, push = jax.linearize(f, xs)
        return out, push(jnp.ones_like(xs)), push(xs)

    return run


DERIVATIVES = {
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jvp": jvp,
    "vjp": vjp,
    "linearize": linearize,
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "hessian": jax.hessian,
}


def check(program, derivative, jit):
    value, assertions = jit(with_runtime_assertions(derivative(program)))(XS)
    compare_trees(value, jax.jit(derivative(program))(XS), 1e-5)
    return assertions


@pytest.mark.parametrize(
    ("program", "derivative"),
    [
        *((program, name) for program in PROGRAMS for name in ("grad", "jvp", "linearize")),
        # What `grad` does, with the value.
        *((program, "vjp") for program in (scan, branch, remat, vmapped)),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_derivative_inside(program, derivative):
    """`with_runtime_assertions(grad(f))`: exactly the assertions of `f`."""
    assertions = check(program, DERIVATIVES[derivative], jax.jit)
    assert len(assertions) == len(PROGRAMS[program])
    for assertion, expected in zip(assertions, PROGRAMS[program], strict=True):
        compare(assertion, expected)


@pytest.mark.parametrize("derivative", ["value_and_grad", "linearize"])
@pytest.mark.parametrize("program", [scan, branch, remat], ids=lambda f: f.__name__)
def test_derivative_inside_eagerly(program, derivative):
    assertions = check(program, DERIVATIVES[derivative], lambda f: f)
    assert len(assertions) == len(PROGRAMS[program])
    for assertion, expected in zip(assertions, PROGRAMS[program], strict=True):
        compare(assertion, expected)


@pytest.mark.parametrize("derivative", ["jacfwd", "jacrev", "hessian"])
@pytest.mark.parametrize(
    "program", [straight, scan, branch_in_scan, remat], ids=lambda f: f.__name__
)
def test_jacobian_inside(program, derivative):
    """Forward mode is a `vmap` over directions, each of which is a lane."""
    assertions = check(program, DERIVATIVES[derivative], jax.jit)
    assert len(assertions) == len(PROGRAMS[program])
    for assertion, expected in zip(assertions, PROGRAMS[program], strict=True):
        if derivative != "jacrev":
            expected = replace(expected, predicate=[expected.predicate] * 4, lane=[0])
        compare(assertion, expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_derivative_outside(program):
    """`grad(with_runtime_assertions(f))`: the assertions are an auxiliary result."""
    checked = jax.value_and_grad(with_runtime_assertions(program), has_aux=True)
    (value, assertions), gradient = jax.jit(checked)(XS)
    compare_trees((value, gradient), jax.value_and_grad(program)(XS), 1e-5)
    assert len(assertions) == len(PROGRAMS[program])
    for assertion, expected in zip(assertions, PROGRAMS[program], strict=True):
        compare(assertion, expected)


@pytest.mark.parametrize("program", [scan, branch_in_scan, remat_in_scan, vmapped],
                         ids=lambda f: f.__name__)  # fmt: skip
def test_jvp_outside(program):
    bare = jvp(program)(XS)
    checked = with_runtime_assertions(program)
    value, tangent, assertions = jax.jit(
        lambda xs: jax.jvp(checked, (xs,), (jnp.ones_like(xs),), has_aux=True)
    )(XS)
    compare_trees((value, tangent), bare, 1e-5)
    for assertion, expected in zip(assertions, PROGRAMS[program], strict=True):
        compare(assertion, expected)


table = Table()


@table([2.0, 1.0, 0.0], expect=[fails("x is 5.0", iteration=[3], fix=5.0)])
def forward_through_while(start):
    """Only forward mode goes through a while loop."""

    def run(x):
        def body(state):
            i, x = state
            small(x)
            return i + 1, x + 1

        return lax.while_loop(lambda state: state[0] < 4, body, (0, x))[1]

    return jax.jvp(run, (start[0],), (start[1],))


@table([2.0, 1.0, 0.0], expect=[passes(), fails("x is 5.0", iteration=[3])])
def forward_through_a_while_condition(start):
    def run(x):
        small(x)

        def condition(x):
            small(x)
            return x < 6

        return lax.while_loop(condition, lambda x: x + 1, x)

    return jax.jvp(run, (start[0],), (start[1],))


@table([1.0, 7.0, 9.0], calm=([1.0, 2.0, 3.0],), expect=[
    fails("x is 7.0", predicate=[True, False, False], lane=[1], fix=7.0)
])  # fmt: skip
def vmap_of_grad(xs):
    return jax.vmap(jax.grad(lambda x: (small(x), x**3)[1]))(xs)


@table([1.0, 7.0, 9.0], expect=[fails("x is 7.0", iteration=[1], fix=7.0)])
def grad_in_scan(xs):
    """The loop's body differentiates; the loop itself is not differentiated."""

    def loss(w, x):
        small(x)
        return (w - x) ** 2

    return lax.scan(lambda w, x: (w - jax.grad(loss)(w, x), x), 0.0, xs)


@table([1.0, 7.0, 9.0], expect=[fails("x is 7.0", iteration=[1], fix=7.0)])
def grad_of_grad_in_scan(xs):
    def loss(w):
        return lax.scan(lambda w, x: (jax.grad(lambda v: (small(x), v**3 * x)[1])(w), None), w, xs)[
            0
        ]

    return jax.grad(loss)(1.0)


@table([1.0, 7.0], expect=[
    fails("x is 7.0", iteration=[1], predicate=[False, True], lane=[0], fix=7.0)
])  # fmt: skip
def grad_of_vmap_of_scan_of_cond(xs):
    def one(flag, xs):
        def body(total, x):
            def checked(x):
                return (small(x), x**2)[1]

            return total + lax.cond(flag & (x > 5), checked, lambda x: x, x), None

        return lax.scan(body, 0.0, xs)[0]

    flags = jnp.array([True, False])
    return jax.grad(lambda xs: jax.vmap(one, in_axes=(0, None))(flags, xs).sum())(xs)


@table([1.0, 7.0], expect=[fails("loss is 50.0", fix=50.0), fails("x is 7.0", fix=7.0)])
def several_transformations_in_a_row(xs):
    def loss(xs):
        small((xs**2).sum(), name="loss")
        return (xs**2).sum()

    gradient = jax.grad(loss)(xs)
    small(gradient[1] / 2)
    return gradient


@table([1.0, 7.0], expect=[fails("tangent is 14.0")])
def assertion_on_a_tangent(xs):
    def f(x):
        return x**2

    _, tangent = jax.jvp(f, (xs[1],), (xs[0],))
    small(tangent, name="tangent")
    return tangent


@table.in_all_modes()
def test_derivatives_inside_programs(case, mode):
    case.check(mode)


def test_passing_and_failing_inputs_of_one_gradient():
    step = jax.jit(with_runtime_assertions(jax.grad(scan)))
    for xs, outcome in [(XS, [False]), (jnp.array([1.0, 2.0, 3.0, 4.0]), [True])]:
        gradient, assertions = step(xs)
        assert [bool(a.predicate) for a in assertions] == outcome
        # d/dx of the weighted sum of squares: weights 8, 4, 2, 1 from the carry, 1 from ys.
        np.testing.assert_array_equal(gradient, 2 * xs * (np.array([8, 4, 2, 1]) + 1))


def test_expected_can_fail():
    with pytest.raises(AssertionError):
        compare(check(scan, jax.grad, jax.jit)[0], Expected(True))
