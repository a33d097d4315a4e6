"""Functions that loops are given: conditions, what combines two elements, and bodies."""

import pytest

from .reading import found

NOT_ASSOCIATIVE = {
    "a decay from outside": (
        """
        import functools

        def blend(gamma, later, earlier):
            return gamma * later + earlier

        def returns(rewards, gamma):
            return jax.lax.associative_scan(functools.partial(blend, gamma), rewards, reverse=True)
        """,
        7,
    ),
    "the average of two": (
        """
        class Smooth:
            def mean(self, a, b):
                return jnp.multiply(0.5, a + b)

            def run(self, x):
                return jax.lax.associative_scan(self.mean, x)
        """,
        6,
    ),
    "the factors in the wrong place": (
        """
        def compose(first, second):
            (a, x), (b, y) = first, second
            return a * b, a * x + y

        def run(a, x):
            return jax.lax.associative_scan(compose, (a, x))
        """,
        6,
    ),
    "a difference": ("run = lambda x: jax.lax.associative_scan(jnp.subtract, x)", 1),
}


@pytest.mark.parametrize("case", NOT_ASSOCIATIVE)
def test_functions_that_are_not_associative(case: str):
    program, line = NOT_ASSOCIATIVE[case]
    assert found("SC006", program) == [line]


ASSOCIATIVE = {
    "a running maximum": "run = lambda x: jax.lax.associative_scan(jnp.maximum, x)",
    "maps of the form a x + b": """
        def compose(first, second):
            (a, x), (b, y) = first, second
            return a * b, b * x + y

        def run(a, x):
            return jax.lax.associative_scan(compose, (a, x))
        """,
    "either of two probabilities": """
        def run(p):
            return jax.lax.associative_scan(lambda a, b: a + b - a * b, p)
        """,
    "a maximum and the sum below it": """
        def merge(left, right):
            top = jnp.maximum(left["top"], right["top"])
            total = left["sum"] * jnp.exp(left["top"] - top)
            return {"top": top, "sum": total + right["sum"] * jnp.exp(right["top"] - top)}

        def run(x):
            return jax.lax.associative_scan(merge, {"top": x, "sum": jnp.ones_like(x)})
        """,
    "sums that start anew, of which nothing is known": """
        def merge(left, right):
            (f, x), (g, y) = left, right
            return f | g, jnp.where(g, y, x + y)

        def run(flags, x):
            return jax.lax.associative_scan(merge, (flags, x))
        """,
    "products of matrices": "run = lambda m: jax.lax.associative_scan(lambda a, b: b @ a, m)",
}


@pytest.mark.parametrize("case", ASSOCIATIVE)
def test_functions_that_are_associative_or_may_be(case: str):
    assert found("SC006", ASSOCIATIVE[case]) == []


def test_conditions_that_read_what_the_loop_starts_from():
    program = """
    from typing import NamedTuple

    class Search(NamedTuple):
        x: jax.Array
        error: jax.Array

    class Solver:
        def __init__(self, f, tolerance):
            self.f, self.tolerance = f, tolerance

        def solve(self, x):
            start = Search(x, jnp.max(self.f(x)))

            def unfinished(now):
                return start.error > self.tolerance

            def improve(now):
                x = now.x - 0.1 * self.f(now.x)
                return Search(x, jnp.max(self.f(x)))

            return jax.lax.while_loop(unfinished, improve, start)

    def halve(x, limit):
        wide = jnp.sum(x) > limit
        return jax.lax.while_loop(lambda it: wide, lambda it: 0.5 * it, x)
    """
    assert found("SC007", program) == [15, 25]
    assert found("SC007", program.replace("start.error >", "now.error >")) == [25]


def test_conditions_that_depend_on_the_carry_in_some_way():
    program = """
    def count(n):
        return jax.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)

    def several(x):
        def more(carry):
            _, flags = carry
            return jax.tree.reduce(jnp.logical_or, flags)

        def step(carry):
            x, _ = carry
            return 0.5 * x, {"a": x > 1, "b": x > 2}

        return jax.lax.while_loop(more, step, (x, {"a": True, "b": True}))

    def unknown(solver, x):
        return jax.lax.while_loop(solver.more, solver.step, solver.start(x))

    def ask(x, answer):
        def more(x):
            return jax.pure_callback(answer, jax.ShapeDtypeStruct((), bool))

        return jax.lax.while_loop(more, lambda x: x + 1, x)
    """
    assert found("SC007", program) == []


def test_a_carry_ends_in_another_size_though_not_all_axes_are_known():
    program = """
    import flax.linen as nn

    class Reader:
        def __init__(self, hidden, tags):
            self.cell = nn.Dense(hidden)
            self.out = nn.Dense(features=tags)
            self.hidden = hidden

        def run(self, params, xs):
            def step(h, x):
                h = jnp.tanh(self.cell.apply(params["cell"], jnp.concatenate([h, x], -1)))
                logits = self.out.apply(params["out"], h + 0 * x[..., :1])
                return logits, h

            return jax.lax.scan(step, jnp.zeros((4, self.hidden)), xs)

    def entry(params, xs):
        return Reader(32, 5).run(params, xs)
    """
    assert found("SC201", program) == [12]
    assert found("SC201", program.replace("return logits, h", "return h, logits")) == []
    assert found("SC201", program.replace("Reader(32, 5)", "Reader(5, 5)")) == []


def test_a_body_with_swapped_parameters_is_told_where_they_are():
    program = """
    from functools import partial

    class Solver:
        def project(self, edges, x, i):
            scale = 0.98**i
            a, b = edges[:, 0], edges[:, 1]
            return x.at[a].add(scale * (x[b] - x[a]))

        def run(self, edges, x):
            return jax.lax.fori_loop(0, 8, partial(self.project, edges), x)
    """
    assert found("SC203", program) == [4]
    assert found("SC203", program.replace("x, i)", "i, x)")) == []


def test_one_of_several_branches_does_not_take_the_operands():
    program = """
    class Gait:
        def command(self, t, joints):
            return jnp.sin(t) * joints

    class Stand(Gait):
        def command(self, joints):
            return 0.0 * joints

    class Walk(Gait):
        pass

    GAITS = [Gait(), Stand(), Walk()]

    def control(mode, t, joints):
        return jax.lax.switch(mode, [gait.command for gait in GAITS], t, joints)

    def either(flag, x, y):
        return jax.lax.cond(flag, lambda x, y: x, lambda x: x, x, y)
    """
    assert found("SC203", program) == [6, 18]
    mended = program.replace("command(self, joints)", "command(self, t, joints)")
    assert found("SC203", mended) == [18]


def test_a_body_under_a_checkpoint_returns_no_pair():
    program = """
    def forward(blocks, x):
        def layer(x, w):
            return jnp.tanh(x @ w)

        return jax.lax.scan(jax.checkpoint(layer), x, blocks)[0]

    def entry():
        return forward(jnp.ones((4, 8, 8)), jnp.ones((3, 8)))
    """
    assert found("SC202", program) == [3]
    assert found("SC201", program) == []
    assert found("SC202", program.replace("tanh(x @ w)", "tanh(x @ w), None")) == []


def test_a_carry_that_becomes_a_boolean_is_told_in_the_body():
    program = """
    def best(scores):
        start = jnp.float32(0)

        def step(carry, score):
            best, count = carry
            better = score > best
            return (better, count + 1), None

        return jax.lax.scan(step, (start, jnp.int32(0)), scores)
    """
    assert found("SC201", program) == [6]
    wider = program.replace("score > best", "jnp.float32(1) + best")
    assert found("SC201", wider) == []
    assert found("SC201", wider.replace("start = jnp.float32", "start = jnp.int32")) == [2]


def test_branches_that_each_have_an_operand_of_their_own():
    program = """
    from elsewhere import identity

    def f(p, x, y):
        return lax.cond(p, (x, y), lambda pair: pair[0] + pair[1], y, identity)
    """
    assert found("SC203", program) == []
    assert found("SC203", program.replace("identity)", "lambda a, b: a)")) == [4]


def test_turns_that_start_from_the_same_array():
    program = """
    def move(state, speeds):
        for i in range(8):
            is_late = state.cars[i, 2] == 0
            cars = state.cars.at[i, 2].set(jnp.where(is_late, speeds[i], state.cars[i, 2]))
            cars = cars.at[i, 0].add(is_late)
        return state.replace(cars=cars)
    """
    assert found("SC008", program) == [4]
    kept = program.replace("state.cars.at", "cars.at")
    start = "    def move(state, speeds):\n        cars = state.cars"
    assert found("SC008", kept.replace("    def move(state, speeds):", start)) == []


def test_a_flag_that_every_turn_sets():
    program = """
    def hit(boxes, x):
        done, count = False, 0
        for i in range(4):
            inside = jnp.logical_and(boxes[i, 0] < x, x < boxes[i, 1])
            count += inside
            done = inside
        return done, count
    """
    assert found("SC008", program) == [6]
    assert found("SC008", program.replace("done = inside", "done = done | inside")) == []


def test_turns_whose_results_are_kept_or_that_end_the_loop():
    program = """
    def each(x, values, keep):
        for i in range(3):
            y = x.at[i].set(values[i])
            keep.append(y)
        for i in range(3):
            z = x.at[i].set(values[i])
            if keep[i]:
                break
        for i in range(3):
            w = x.at[0].set(values[i])
        found = False
        for i in range(3):
            found = values[i] > 0
            x = jnp.where(found, x, -x)
        return x, y, z, w, found
    """
    assert found("SC008", program) == []


def test_a_scan_with_arguments_that_are_handed_on():
    program = """
    def body(carry, x):
        return carry, x

    def run(carry, *args, **options):
        return lax.scan(body, carry, *args, **options)
    """
    assert found("SC202", program) == []
    assert found("SC202", program.replace(", *args, **options)\n    ", ")\n    ")) == [5]


def test_branches_that_are_values():
    program = """
    import dataclasses
    from typing import NamedTuple

    class State(NamedTuple):
        angle: jax.Array
        clock: jax.Array

    def reset(key):
        return State(jax.random.uniform(key), 0)

    @jax.jit
    def step(key, state):
        done = state.clock > 10
        return jax.lax.cond(done, reset(key), state)

    @jax.jit
    def fine(key, state):
        done = state.clock > 10
        return jax.lax.cond(done, reset, lambda _: state, key)

    def main(key):
        return step(key, reset(key)), fine(key, reset(key))
    """
    assert found("SC203", program) == [14]


def test_a_body_to_which_a_wrapper_binds_what_it_is_given():
    program = """
    import functools

    def over_rows(function):
        def run(rows, **options):
            return jax.lax.scan(functools.partial(function, **options), 0.0, rows)

        return run

    @over_rows
    def total(carry, row, *, weight):
        return carry + weight * row, carry

    def fine(rows):
        return total(rows, weight=0.5)

    """
    assert found("SC203", program) == []
    alone = """
    import functools

    def total(carry, row, *, weight):
        return carry + weight * row, carry

    def fails(rows, options):
        known = {"unroll": 2}
        return jax.lax.scan(functools.partial(total), 0.0, rows, **known)
    """
    assert found("SC203", alone) == [8]


def test_what_a_condition_counts_is_compared_with_something_that_changes():
    program = """
    def choose(key, tree, node):
        def is_too_large(state):
            _, tree, node = state
            free = jnp.sum(tree == 0)
            return free < tree.shape[0] - node

        def again(state):
            key, tree, _ = state
            key, sub = jax.random.split(key)
            return key, tree, jax.random.randint(sub, (), 0, 9)

        return lax.while_loop(is_too_large, again, (key, tree, node))
    """
    assert found("SC007", program) == []
    fixed = (
        program.replace("< tree.shape[0] - node", "< 3) & (node > 2")
        .replace("return free", "return (free")
        .replace("> 2", "> 2)")
    )
    assert found("SC007", fixed) == [10]


def test_sizes_of_what_is_carried_are_compared_once_and_for_all():
    program = """
    def choose(key, options, pick, old):
        def is_same(state):
            _, options, pick, old = state
            return (pick == old) & (len(options) > 1) & (options.shape[0] > 2)

        def again(state):
            key, options, _, old = state
            key, sub = jax.random.split(key)
            return key, options, jax.random.choice(sub, options), old

        return lax.while_loop(is_same, again, (key, options, pick, old))
    """
    assert found("SC007", program) == []
    assert found("SC007", program.replace("(len(options) > 1)", "(options[0] > 1)")) == [9]


@pytest.mark.parametrize(
    ("parameters", "is_swapped"),
    [("u, i", True), ("state, step", True), ("i, u", False), ("_, u", False), ("k, i", False)],
)
def test_names_tell_that_the_counter_comes_first(parameters: str, is_swapped: bool):
    program = f"""
    class Solver:
        def substep(self, {parameters}):
            {parameters.partition(", ")[0]} * 2
            return 0.5 * {parameters.partition(", ")[2]}

    def entry(u):
        return lax.fori_loop(0, 8, Solver().substep, u)

    def inputs():
        return (jnp.ones(16),)
    """
    assert found("SC203", program) == ([2] if is_swapped else [])
