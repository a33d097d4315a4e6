"""Assertions in loops: one comes out for each site, about the first iteration that failed."""

from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from verax import runtime_assert
from verax.runtime import FIRST, LARGEST

from .cases import MODES, Expected, Table, fails, passes, small

# The first failure (7), the last one (6) and the largest (9) differ.
XS = [1.0, 7.0, 9.0, 6.0, 2.0]
CALM = [1.0, 2.0, 3.0, 4.0, 0.0]


def scan(check, xs, **options):
    def body(total, x):
        check(x)
        return total + x, total * x

    return lax.scan(body, 0.0, xs, **options)


def while_body(check, xs):
    def body(state):
        i, total = state
        check(xs[i])
        return i + 1, total + xs[i]

    return lax.while_loop(lambda state: state[0] < 5, body, (0, 0.0))


def while_condition(check, xs):
    """The condition is also evaluated once more than the body, with `i == 5`."""

    def condition(state):
        i, _ = state
        check(jnp.where(i < 5, xs[i % 5], 0.0))
        return i < 5

    return lax.while_loop(condition, lambda s: (s[0] + 1, s[1] + xs[s[0]]), (0, 0.0))


def fori(check, xs, stop):
    def body(i, total):
        check(xs[i])
        return total + xs[i]

    return lax.fori_loop(0, stop, body, 0.0)


def mapped(check, xs, **options):
    def one(x):
        check(x)
        return x * 2

    return lax.map(one, xs, **options)


def jitted_scan(check, xs):
    """`jit` inside and outside of the loop's body changes nothing."""
    return jax.jit(lambda xs: scan(jax.jit(check), xs))(xs)


LOOPS = {
    # loop: (program, iteration and value of the failure that comes first)
    "scan": (scan, 1, 7.0),
    "scan_reverse": (partial(scan, reverse=True), 3, 6.0),
    "scan_unroll": (partial(scan, unroll=2), 1, 7.0),
    "scan_reverse_unroll": (partial(scan, unroll=5, reverse=True), 3, 6.0),
    "scan_in_jit": (jitted_scan, 1, 7.0),
    "while_body": (while_body, 1, 7.0),
    "while_condition": (while_condition, 1, 7.0),
    "fori": (partial(fori, stop=5), 1, 7.0),
    "fori_traced": (lambda check, xs: jax.jit(partial(fori, check))(xs, stop=5), 1, 7.0),
    "fori_unroll": (
        lambda check, xs: lax.fori_loop(
            0, 5, lambda i, t: (check(xs[i]), t + xs[i])[1], 0.0, unroll=2
        ),
        1,
        7.0,
    ),
    "map": (mapped, 1, 7.0),
}
LAWS = {"first": FIRST, "largest": LARGEST}

loops_and_laws = Table()
for loop, (program, iteration, value) in LOOPS.items():
    for law in LAWS:
        needed = value if law == "first" else 9.0

        @loops_and_laws(
            XS,
            calm=(CALM,),
            expect=[fails(f"x is {value}", iteration=[iteration], fix=needed)],
            name=f"{loop}-{law}",
            modes=MODES if law == "first" else ("jitted", "vmap_inside"),
        )
        def run(xs, program=program, law=law):
            return program(partial(small, law=LAWS[law]), xs)


@loops_and_laws.in_all_modes()
def test_loops_and_laws(case, mode):
    case.check(mode)


shapes_of_loops = Table()


@shapes_of_loops(jnp.zeros((0,)), expect=[passes()])
def zero_length_scan(xs):
    return scan(small, xs)


@shapes_of_loops(3.0, expect=[passes()])
def while_without_iterations(x):
    return lax.while_loop(lambda x: x < 0, lambda x: (small(x + 9), x)[1], x)


@shapes_of_loops(9.0, calm=(1.0,), expect=[fails("x is 9.0", iteration=[0], fix=9.0)])
def condition_that_is_false_at_once(x):
    def condition(x):
        small(x)
        return x < 0

    return lax.while_loop(condition, lambda x: x + 1, x)


@shapes_of_loops(
    3.0,
    expect=[
        fails("condition is 6.0", iteration=[3], fix=6.0),
        fails("body is 5.0", iteration=[2], fix=5.0),
    ],
)
def condition_and_body(x):
    def condition(x):
        small(x * (x > 5), name="condition")
        return x < 8

    def body(x):
        small(x, name="body")
        return x + 1

    return lax.while_loop(condition, body, x)


@shapes_of_loops(
    [[1.0, 2.0], [3.0, 8.0], [9.0, 4.0]],
    calm=([[1.0, 2.0], [3.0, 4.0], [0.0, 4.0]],),
    expect=[
        fails("row is 13.0", iteration=[2], fix=13.0),
        fails("x is 8.0", iteration=[1, 1], fix=9.0),
    ],
)
def scan_in_scan(rows):
    def outer(total, row):
        small(jnp.where(row.sum() > 12, row.sum(), 0.0), name="row")
        return total + scan(partial(small, law=LARGEST), row)[0], None

    return lax.scan(outer, 0.0, rows)


@shapes_of_loops(
    [[1.0, 2.0], [3.0, 8.0], [9.0, 4.0]],
    expect=[fails("x is 8.0", iteration=[1, 0, 1], fix=8.0)],
)
def while_in_fori_in_scan(rows):
    """The path names the iteration of each loop, outermost first."""

    def outer(total, row):
        def middle(_, total):
            def body(state):
                i, total = state
                small(row[i])
                return i + 1, total + row[i]

            return lax.while_loop(lambda state: state[0] < 2, body, (0, total))[1]

        return lax.fori_loop(0, 2, middle, total), None

    return lax.scan(outer, 0.0, rows)


@shapes_of_loops(
    [[1.0, 2.0], [3.0, 8.0], [9.0, 4.0]],
    expect=[
        fails(
            "v is [3. 8.]",
            predicate=False,
            iteration=[1],
            fix=jnp.array([3.0, 8.0]),
        ),
        fails("largest", iteration=[1], fix=jnp.array([9.0, 8.0])),
    ],
)
def elementwise_maximum_of_failures(rows):
    """Of the passing iteration nothing is taken; of the failures, each element's maximum."""

    def body(_, row):
        failed = row.sum() > 10
        runtime_assert(~failed, "v is {v}", {"v": row}, fix_fn=lambda s, v: v, fix_args=row)
        runtime_assert(~failed, "largest", fix_fn=lambda s, v: v, fix_args=row, fix_law=LARGEST)
        return None, None

    return lax.scan(body, None, rows)


@shapes_of_loops(
    [[1.0, 2.0], [3.0, 8.0], [9.0, 4.0]],
    expect=[Expected([False, False], "x is [3. 8.]", iteration=[1], fix=jnp.array([3.0, 8.0]))],
)
def predicate_that_is_an_array(rows):
    """Each element of the predicate says whether it held in all iterations."""
    return lax.scan(lambda _, row: (small(row), None), None, rows)


@shapes_of_loops(
    XS, expect=[fails("a is 7.0", iteration=[1]), fails("b is 6.0", iteration=[3]), passes()]
)
def several_in_one_body(xs):
    def body(_, x):
        small(x, name="a")
        small(jnp.where(x == 6, x, 0), name="b")
        small(x - 9)
        return None, x

    return lax.scan(body, None, xs)


@shapes_of_loops(XS, expect=[fails("x is 7.0", iteration=[1]), fails("x is 9.0", iteration=[2])])
def the_same_function_in_two_loops(xs):
    return scan(small, xs), scan(small, jnp.where(xs > 7, xs, 0.0))


@shapes_of_loops.in_all_modes()
def test_shapes_of_loops(case, mode):
    case.check(mode)
