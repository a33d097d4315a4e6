"""Right programs that were taken for ones that break while JAX traces them."""

import pytest

from .reading import found


def test_leaves_of_lists_of_lists_are_mapped_one_by_one():
    program = """
    def spread(x, count):
        rows = [[x[0], x[1]], [x[2], x[3]]]
        for _ in range(count):
            rows = jax.tree.map(jnp.expand_dims, rows)
        return rows

    def means(tables):
        return jax.tree.map(jnp.mean, [it * 2 for it in tables])
    """
    assert found("JT204", program) == []


def test_what_is_evaluated_while_tracing_is_no_tracer():
    program = """
    @jax.jit
    def states(x):
        with jax.ensure_compile_time_eval():
            seen = jnp.unique(jnp.arange(4) // 2)
            if seen.sum() > 0:
                seen = seen + 1
        return x + seen.sum(), jnp.unique(x)
    """
    assert found("JT203", program) == [7]
    assert found("JT201", program) == []


def test_a_context_that_says_where_tracing_is():
    program = """
    import contextlib

    LEVEL = 0

    @contextlib.contextmanager
    def deeper():
        global LEVEL
        LEVEL += 1
        try:
            yield
        finally:
            LEVEL -= 1

    @jax.jit
    def step(x):
        global LEVEL
        with deeper():
            LEVEL += 1
            return x * 2
    """
    assert found("JT101", program) == [18]


def test_after_a_tracer_was_converted_in_vain():
    program = """
    @jax.jit
    def weights(sizes):
        try:
            known = np.asarray(sizes)
        except (TypeError, ValueError):
            return sizes / jnp.sum(sizes)
        return jnp.repeat(known, int(np.max(sizes)))

    @jax.jit
    def asked(sizes):
        return sizes / np.exp(sizes)
    """
    assert [it for it in found("JT202", program) if it > 5] == [11]


def test_a_container_is_no_array():
    program = """
    def scaled(tree):
        if isinstance(tree, (jax.Array, np.ndarray)):
            return jnp.square(tree)
        return [scaled(it) for it in tree]

    def both(x):
        return scaled((x, x))
    """
    assert found("JT204", program) == []


def test_a_custom_derivative_runs_as_it_is():
    program = """
    @jax.custom_vjp
    def solve(a, b):
        x = np.linalg.solve(np.asarray(a), np.asarray(jnp.negative(b)))
        return x

    solve.defvjp(lambda a, b: (solve(a, b), a), lambda a, g: (None, g))

    def run(a, b):
        return solve(a, b)

    @jax.jit
    def compiled(a, b):
        return np.exp(solve(a, b))
    """
    assert found("JT202", program) == [3]
    assert found("JT202", program.replace("@jax.jit\n", "\n")) == []


def test_numpy_leaves_some_functions_to_the_array():
    program = """
    @jax.jit
    def bounds(x):
        low, high = np.min(x, 0), np.max(x, axis=0)
        return np.sum(low) + np.mean(high), np.median(x)
    """
    assert found("JT202", program) == [4]


def test_a_function_for_arrays_is_differentiated_at_a_number():
    program = """
    from jaxtyping import Array, Float

    def phase(f: Float[Array, "n_freq"], theta) -> Float[Array, "n_freq"]:
        return theta * f**2

    def slope(f1, theta):
        return jax.value_and_grad(phase)(f1 * 2.0, theta)

    def wrong(theta):
        return jax.grad(lambda f: theta * f**2)(jnp.ones(3))
    """
    assert found("GR201", program) == [10]


def test_rules_of_methods_and_of_arguments_by_name():
    program = """
    class Projector:
        def __init__(self):
            self.project = jax.custom_vjp(self._project)
            self.project.defvjp(lambda x: (self._project(x), None), lambda _, y: (y,))

        def _project(self, x):
            return x * 2

    @functools.partial(jax.custom_vjp, nondiff_argnames=("is_causal",))
    def attend(q, k, is_causal):
        return q * k if is_causal else q + k

    attend.defvjp(lambda q, k, is_causal: (attend(q, k, is_causal), (q, k)), lambda c, r, g: (g, g))
    run = jax.jit(attend, static_argnames="is_causal")

    @jax.custom_vjp
    def wrong(x):
        return x

    wrong.defvjp(lambda x: (x, None), lambda r, g, c: (g,))
    """
    assert found("GR016", program) == [20]
    assert found("JT201", program) == []


def test_a_store_in_a_reference_of_a_kernel():
    program = """
    def kernel(x_ref, out_ref):
        out_ref.at[:, 0].store(x_ref[...])
        out_ref.at[:, 0].set(x_ref[...])
    """
    assert found("DF104", program) == [3]


def test_static_names_of_a_function_that_is_not_known():
    program = """
    from somewhere import made

    update = jax.jit(made(), static_argnames=("method",))

    def run(x):
        return update(x, "add")
    """
    assert found("JT204", program) == []


def test_names_of_variables_are_a_set():
    program = """
    @jax.jit
    def loaded(params, given):
        missing = set(params) - {name for name in given}
        if missing:
            raise ValueError(missing)
        return given
    """
    assert found("JT201", program) == []


def test_trees_of_which_one_is_known():
    program = """
    def added(left, right):
        return jax.tree.map(jnp.add, left, right)

    def run(params):
        return added(params, {"w": jnp.ones(3), "b": jnp.ones(2)})
    """
    assert found("JT204", program) == []


_RUNNER = """
class Runner:
    def __init__(self, count, scale):
        self.count = count
        self.scale = scale

    @partial(jax.jit, static_argnums=0)
    def run(self, x):
        return x * self.count * self.scale

"""


def test_what_a_constructor_sets_of_each_object_that_a_loop_makes():
    anew = """
def anew(x, scales):
    for scale in scales:
        runner = Runner(3, scale)
        x = runner.run(x)
    return x
"""
    kept = """
def kept(x, scales):
    runner = Runner(3, 1.0)
    for scale in scales:
        runner.scale = scale
        x = runner.run(x)
    return x
"""
    assert found("JT103", _RUNNER + anew) == []
    assert found("JT103", _RUNNER + kept) == [8]


def test_a_slice_is_compared_by_python():
    program = """
    FULL = slice(None, None, None)

    def checked(address):
        kept = [it for it in address if isinstance(it, (slice, int, jax.Array))]
        first = kept[0]
        if isinstance(first, slice) and first != FULL:
            kept = kept[1:]
        if not all(it == FULL for it in kept):
            raise ValueError(address)
        return address

    def part(table, at):
        checked((at,))
        if at == 3:
            return table[0]
        return table[at]

    def parts(table):
        return jax.vmap(part, in_axes=(None, 0))(table, jnp.arange(3))
    """
    assert found("JT201", program) == [14]


def test_reducing_goes_through_values_that_are_not_one():
    program = """
    def least(x, y):
        return jnp.minimum(jnp.min(x), jnp.min(y))

    def of_tree(tree):
        return jax.tree.reduce(least, tree)

    def of_list(tables):
        return functools.reduce(least, tables)
    """
    assert found("DF108", program) == []


def test_what_is_compiled_for_each_thing_that_is_registered_is_called_elsewhere():
    program = """
    def serve(socket):
        def make(registered):
            def program(x):
                return registered.go(x)
            return program

        class Program:
            def __init__(self, registered):
                self.programs = {"a": jax.jit(make(registered))}

        cache = {}
        while socket.alive():
            name = socket.get()
            record = cache.get(name)
            if record is None:
                record = Program(socket.load())
                cache[name] = record

    def repeat(xs):
        for x in xs:
            doubled = jax.jit(lambda it: it * 2)
            print(doubled(x))
    """
    assert found("JT304", program) == [21]


def test_a_list_in_a_table_is_filled_by_a_key_that_is_not_known():
    program = """
    def by_comprehension(names, found):
        losses = {name: [] for name in names}
        for name, loss in found:
            losses[name].append(loss)
        return {name: jnp.stack(it) for name, it in losses.items()}

    def by_name(found):
        losses = {"left": [], "right": []}
        for name, loss in found:
            losses[name].append(loss)
        return jnp.stack(losses["left"])

    def by_number(found):
        losses = [[], []]
        for number, loss in found:
            losses[number].append(loss)
        for each in losses:
            each.append(1.0)
        return jnp.stack(losses[0])

    def one_by_one(xs):
        losses = [[], []]
        for each in losses:
            for x in xs:
                each.append(x)
        return jnp.stack(losses[0])

    def never():
        losses = {"left": [], "right": []}
        losses["right"].append(jnp.ones(3))
        return jnp.stack(losses["left"])
    """
    assert found("AX201", program) == [31]


def test_keys_of_a_list_are_taken_one_in_each_turn():
    program = """
    def drawn(keys, count):
        return [jax.random.uniform(keys[i], (3,)) for i in range(count)]

    def one(key):
        return drawn([key], 1)

    def two(key):
        keys = list(jax.random.split(key))
        left, right = keys
        for i in range(2):
            print(jax.random.uniform([left, right][i], (3,)))

    def same(key):
        keys = [key]
        for _ in range(5):
            print(jax.random.uniform(keys[0], (3,)))
    """
    assert found("RK002", program) == [16]


def test_what_is_cleared_before_a_tracer_is_stored_is_not_put_back():
    program = """
    class Cache:
        def __init__(self):
            self.last = None

    def remember(cache, x):
        cache.last = None
        cache.last = x * 2.0
        return x

    def remember_for_a_while(cache, x):
        cache.last = x * 2.0
        try:
            return x + cache.last
        finally:
            cache.last = None

    def run(x):
        cache = Cache()
        return jax.jit(lambda it: remember(cache, it))(x), cache.last

    def run_for_a_while(x):
        cache = Cache()
        return jax.jit(lambda it: remember_for_a_while(cache, it))(x)
    """
    assert found("JT101", program) == [7]


def test_names_of_entries_are_no_tracers():
    program = """
    @jax.jit
    def norms(params):
        seen = {}
        total = 0.0
        for name in params:
            seen[name] = jnp.vdot(params[name], params[name])
            seen[f"{name}/root"] = jnp.sqrt(seen[name])
            print("traced", name)
        for number, name in enumerate(sorted(params)):
            total = total + number * seen[name]
        return seen, total

    @jax.jit
    def shown(rows):
        table = {0: 1.0}
        for row in rows:
            print(row / 2, row)
            table[0] = table[row]
        return table
    """
    assert found("JT102", program) == [17]
    assert found("JT205", program) == [18]


def test_a_new_axis_is_none():
    program = """
    from jax.numpy import newaxis
    na = jnp.newaxis

    def lagged(x, count):
        return x[count:] + jnp.zeros((count, 1)).sum()

    def both(x):
        first = jax.vmap(lagged, in_axes=(0, na))(x, 3)
        return first, jax.vmap(lagged, in_axes=(0, newaxis))(x, 3)
    """
    assert found("JT203", program) == []
    mapped = program.replace("(0, na))(x, 3)", "(0, 0))(x, jnp.arange(3))")
    assert found("JT203", mapped) == [5]


def test_what_is_bound_by_names_that_are_not_known():
    program = """
    def unpack(*flat, count, treedef):
        return jax.tree.unflatten(treedef, list(flat[:count]))

    def batched(args, dims, **params):
        return jax.vmap(partial(unpack, **params), in_axes=tuple(dims))(*args), 0

    def scaled(x, factor=None):
        return x * factor

    def outside(x, **options):
        return jax.jit(partial(scaled, **options))(x)
    """
    assert found("JT202", program) == []
    assert found("AX201", program) == []
    mapped = program.replace("partial(unpack, **params)", "unpack")
    assert found("JT202", mapped) == [2]


def test_checks_that_leave_tracers_out():
    program = """
    from jax.core import Tracer

    def check(indices, starts, strict):
        if not strict or isinstance(indices, Tracer) or isinstance(starts, Tracer):
            return
        if np.any(np.diff(np.asarray(starts)) < 0):
            raise ValueError("starts go down")

    def build(indices, strict):
        def summed(starts):
            check(indices, starts, strict)
            return starts.sum()

        return jax.jit(summed)
    """
    assert found("JT202", program) == []
    assert found("JT202", program.replace(" or isinstance(starts, Tracer)", "")) == [6]


def test_a_size_that_is_found_where_it_is_not_given():
    program = """
    def neighbours(x, known):
        def build(x, most=None):
            close = jnp.sum(x < 1.0)
            if most is None:
                most = int(close)
            return jnp.argsort(x)[:most]

        return build(x) if known is None else build(x, most=known.most)

    @jax.jit
    def update(x, known):
        return neighbours(x, known)
    """
    told = program.replace("build(x) if known is None else build(x, most=known.most)", "build(x)")
    assert found("JT202", told) == [5]
    given = program.replace("build(x) if known is None else ", "")
    assert found("JT202", given) == []
    renamed = """
        found = known
        if found is None:
            return build(x)
        return build(x, most=found.most)
    """
    one = "    return build(x) if known is None else build(x, most=known.most)\n"
    one = "        return build(x) if known is None else build(x, most=known.most)\n"
    assert found("JT202", program.replace(one, renamed.lstrip("\n"))) == []


def test_what_lacks_an_attribute_of_arrays_is_no_tracer():
    program = """
    import warnings

    def cast(tree):
        def one(x):
            try:
                return x.astype(jnp.float32)
            except AttributeError:
                warnings.warn(f"{x} stays as it is")
                return x

        return jax.tree.map(one, tree)

    @jax.jit
    def step(tree):
        return cast(tree)
    """
    assert found("JT102", program) == []
    assert found("JT102", program.replace("AttributeError", "ValueError")) == [8]


TAKEN_OUT = """
    import contextlib

    STACK = []

    @contextlib.contextmanager
    def pushed(*values):
        STACK.extend(values)
        try:
            yield
        finally:
            {finally_}

    def looked_up(name, value, table):
        table[name] = value
        y = jnp.sin(table[name])
        {afterwards}
        return y

    TABLE = {{}}

    @jax.jit
    def step(x):
        with pushed(x, x + 1):
            y = sum(it.sum() for it in STACK)
        return y + looked_up("x", x, TABLE)
"""


@pytest.mark.parametrize("finally_", ["del STACK[-len(values) :]", "STACK.clear()", "STACK.pop()"])
@pytest.mark.parametrize("afterwards", ["del table[name]", "table.pop(name)", "table.clear()"])
def test_what_is_put_into_a_container_is_taken_out_again(finally_: str, afterwards: str):
    program = TAKEN_OUT.format(finally_=finally_, afterwards=afterwards)
    assert found("JT101", program) == []


@pytest.mark.parametrize(
    ("finally_", "afterwards", "lines"),
    [
        ("pass", "pass", [7, 14]),
        # The oldest is given away, and another key.
        ("STACK.pop(0)", "table.pop('y')", [7, 14]),
        ("STACK.pop()", "if y.ndim: table.pop(name)", [14]),
    ],
)
def test_not_all_that_is_put_into_a_container_is_taken_out(
    finally_: str, afterwards: str, lines: list[int]
):
    program = TAKEN_OUT.format(finally_=finally_, afterwards=afterwards)
    program = program.replace("table[name]", "table['x']") if "'y'" in afterwards else program
    assert found("JT101", program) == lines
