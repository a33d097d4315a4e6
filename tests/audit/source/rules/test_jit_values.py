"""Places at which Python, or a library on NumPy, needs the value of a tracer."""

import pytest

from .reading import found, found_of


@pytest.mark.parametrize(
    "lookup",
    [
        "TABLE[(best, worst)]",
        "TABLE[best, worst]",
        "{}.setdefault(best, x)",
        "hash(best)",
        "Mode(best)",
        "{(best, worst): x}",
    ],
)
def test_tracers_that_are_hashed(lookup: str):
    program = f"""
    import enum

    class Mode(enum.Enum):
        LOW, HIGH = 0, 1

    TABLE = {{(0, 0): 1.0, (0, 1): 2.0}}

    @jax.jit
    def f(x):
        best, worst = jnp.argmax(x), jnp.argmin(x)
        return {lookup}
    """
    assert found("JT205", program) == [11]
    known = program.replace("jnp.argmax(x), jnp.argmin(x)", "x.ndim, len(x)")
    assert found("JT205", known) == []


@pytest.mark.parametrize(
    ("subject", "pattern", "is_wrong"),
    [
        ("best", "0 | 1", True),
        ("(best, x.ndim)", "(0, 1)", True),
        ("(x.ndim, best)", "(1, 0 as found)", True),
        ("(x.ndim, best)", "(1, found)", False),
        ("x.ndim", "1", False),
    ],
)
def test_patterns_that_compare_tracers(subject: str, pattern: str, is_wrong: bool):
    program = f"""
    @jax.jit
    def f(x):
        best = jnp.argmax(x)
        match {subject}:
            case {pattern}:
                return x
        return -x
    """
    assert found("JT201", program) == ([4] if is_wrong else [])


@pytest.mark.parametrize(
    ("call", "is_wrong"),
    [
        ("scipy.special.expit(x)", True),
        ("scipy.stats.norm.logpdf(x, 0.0, 1.0)", True),
        ("expm(x)", True),
        ("jnp.asarray(scipy.signal.windows.hann(x.shape[0])) * x", False),
        ("jax.scipy.special.expit(x)", False),
    ],
)
def test_libraries_that_compute_with_numpy(call: str, is_wrong: bool):
    program = f"""
    import scipy
    from scipy.linalg import expm

    @jax.jit
    def f(x):
        x = jnp.tanh(x)
        return {call}
    """
    assert found("JT202", program) == ([7] if is_wrong else [])


@pytest.mark.parametrize(
    ("call", "is_wrong"),
    [
        ("jnp.where(x > 0, [a, a], 0.0)", True),
        ("jnp.interp(x, jnp.arange(2.0), [a, a])", True),
        ("jnp.average((a, a))", True),
        ("jnp.append(x, [a])", True),
        ("jax.random.choice(key, [a, a])", True),
        ("jnp.where(x > 0, a, 0.0)", False),
        ("jnp.clip(x, 0.0, a)", False),
        ("jax.random.choice(key, x, (2, 3))", False),
    ],
)
def test_lists_where_arrays_are_needed(call: str, is_wrong: bool):
    program = f"""
    @jax.jit
    def f(key, x):
        a = jnp.sum(x)
        return {call}
    """
    assert found_of("jit", program) == ([("JT204", 4)] if is_wrong else [])


def test_elements_that_are_left_out_by_a_traced_index():
    program = """
    @jax.jit
    def f(x):
        return jnp.delete(x, jnp.argmax(x))
    """
    assert found("JT203", program) == [3]
    assert found("JT203", program.replace("jnp.argmax(x)", "0")) == []
    unique = program.replace("argmax(x)", "argmax(x), assume_unique_indices=True")
    assert found("JT203", unique) == []


def test_files_that_tracers_are_written_to():
    program = """
    import csv

    @jax.jit
    def f(x):
        with open("log.txt", "a") as log:
            log.write(f"{jnp.sum(x)} of {x.shape}")
            csv.writer(log).writerow([x.shape[0], jnp.sum(x)])
        return x
    """
    assert found("JT102", program) == [6, 7]
    assert found("JT102", program.replace("jnp.sum(x)", "x.ndim")) == []
