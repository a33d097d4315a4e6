"""Tracers that reach Python's decisions through tools of its standard library."""

import pytest

from .reading import found

IMPORTS = "import collections, copy, itertools, operator\n"


def lines(code: str, program: str) -> list[int]:
    return [line - 1 for line in found(code, IMPORTS + program)]


def test_membership_of_a_set_that_does_not_change():
    program = """\
STOP = frozenset({0, 3})

def stops(token):
    return token in STOP

@jax.jit
def entry(tokens):
    done, out = jax.lax.scan(lambda c, t: (c | stops(t), t), False, tokens)
    return out, jnp.isin(tokens, jnp.array(sorted(STOP)))

def inputs():
    return (jnp.arange(4),)
"""
    assert lines("JT201", program) == [4]


@pytest.mark.parametrize(
    ("asked", "line"),
    [
        ("operator.lt(x.sum(), 1.0)", 3),
        ("operator.not_(x.sum() > 0)", 3),
        ("operator.truth(jnp.all(x))", 3),
        ("operator.getitem((x > 0), 0)", 3),
        ("operator.itemgetter(0)(x) > 0", 3),
        ("operator.attrgetter('T')(x).sum() > 0", 3),
        ("operator.methodcaller('sum', axis=0)(x) > 0", 3),
        ("operator.lt(x.shape[0], 1)", None),
        ("operator.itemgetter(0)(x.shape) > 2", None),
        ("operator.attrgetter('ndim')(x) > 2", None),
    ],
)
def test_operators_as_functions(asked, line):
    program = f"""\
@jax.jit
def f(x):
    if {asked}:
        return -x
    return x
f(jnp.ones(3))
"""
    assert lines("JT201", program) == ([line] if line else [])


@pytest.mark.parametrize(
    ("iterated", "names"),
    [
        ("itertools.islice(xs, 2)", "a"),
        ("itertools.islice(zip(xs, xs), 1, 3)", "a, b"),
        ("itertools.pairwise(xs)", "a, b"),
        ("itertools.product(xs, range(2))", "a, b"),
        ("itertools.combinations(xs, 2)", "a, b"),
        ("itertools.starmap(jnp.add, zip(xs, xs))", "a"),
        ("itertools.chain.from_iterable([xs, xs])", "a"),
        ("itertools.islice(itertools.cycle(xs), 5)", "a"),
    ],
)
def test_what_iterators_hand_out_is_traced(iterated, names):
    program = f"""\
@jax.jit
def f(x):
    xs = [x, 2.0 * x, x ** 2]
    total = 0.0
    for {names} in {iterated}:
        if a.sum() > 0:
            total += a
        if a.ndim > 1:
            total -= a
    return total
f(jnp.ones(3))
"""
    assert set(lines("JT201", program)) == {6}


def test_python_asks_what_iterators_filter_by():
    program = """\
@jax.jit
def f(x):
    rows = list(itertools.takewhile(lambda row: row.sum() > 0, x))
    wide = list(itertools.filterfalse(lambda row: row.ndim > 1, x))
    return rows, wide
f(jnp.ones((3, 3)))
"""
    assert lines("JT201", program) == [3]


def test_a_cache_hashes_its_arguments():
    program = """\
@functools.lru_cache
def scale(level):
    return 2.0 ** level

@jax.jit
def f(x, levels):
    return [x * scale(level) for level in levels], x * scale(x.ndim)
f(jnp.ones(3), jnp.arange(3))
"""
    assert lines("JT205", program) == [7]
    assert lines("JT108", program) == []


def test_a_copy_is_what_it_was_made_of():
    program = """\
state = {"scale": 1.0, "seen": []}

@jax.jit
def f(x):
    own = copy.copy(state)
    own["scale"] = 2.0
    deep = copy.deepcopy(state)
    deep["seen"].append(x)
    own["seen"].append(x)
    return x * own["scale"]
f(jnp.ones(3))
"""
    assert lines("JT101", program) == [9]
