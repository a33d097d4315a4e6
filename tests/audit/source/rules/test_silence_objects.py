"""Objects that are set up, changed and put back, by code that is right."""

import textwrap
from pathlib import Path

from verax.audit.source.engine import Options, audit_paths

from .reading import found


def test_what_is_stored_while_tracing_is_taken_out_again():
    program = """
    import contextlib

    class Module:
        def __init__(self):
            self.scope = None
            self.kept = None

        def read(self, name):
            if self.scope is None:
                self.scope = {}
            return self.scope[name]

        def close(self):
            self.scope = None

        def apply(self, params, x):
            with opened(self, params):
                return self.read("w") * x

        def apply_and_keep(self, params, x):
            self.kept = params
            return self.apply(params, x)

        def noted(self, params, x):
            self.kept = params
            y = self.apply(self.kept, x)
            self.kept = None
            return y

    @contextlib.contextmanager
    def opened(module, params):
        module.scope = params
        try:
            yield
        finally:
            module.close()

    module = Module()

    @jax.jit
    def step(params, x):
        return module.apply(params, x) + module.noted(params, x)

    @jax.jit
    def leak(params, x):
        return module.apply_and_keep(params, x)
    """
    assert found("JT101", program) == [21]


def test_an_object_is_filled_by_the_function_that_makes_it():
    program = """
    class Term:
        def __init__(self, name):
            self.name = name
            self.parts = []

        @partial(jax.jit, static_argnums=0)
        def value(self, x):
            return x * len(self.parts)

        def _take(self, *parts):
            self.parts = list(parts)

        def __add__(self, other):
            both = Term(self.name + other.name)
            both._take(self, other)
            return both

    def used(x):
        first, second = Term("a"), Term("b")
        both = first + second
        return both.value(x), first.value(x)

    class Grown:
        def __init__(self, parts):
            self.parts = list(parts)

        @partial(jax.jit, static_argnums=0)
        def value(self, x):
            return x * len(self.parts)

        def _grow(self, part):
            self.parts = [*self.parts, part]

        def grown(self, x, part):
            before = self.value(x)
            self._grow(part)
            return before, self.value(x)
    """
    assert found("JT103", program) == [29]


def test_a_class_that_another_module_registers(tmp_path: Path):
    files = {
        "__init__.py": "",
        "result.py": """
            import dataclasses
            import jax.numpy as jnp

            @dataclasses.dataclass
            class Result:
                values: jnp.ndarray

            @dataclasses.dataclass
            class Forgotten:
                values: jnp.ndarray
        """,
        "solver.py": """
            import jax.numpy as jnp
            from jax import tree_util
            from package.result import Forgotten, Result

            def solve(x):
                return Result(jnp.linalg.inv(x))

            def fail(x):
                return Forgotten(jnp.linalg.inv(x))

            tree_util.register_pytree_node(
                Result, lambda it: ((it.values,), None), lambda _, parts: Result(*parts)
            )
        """,
        "stack.py": """
            import jax
            import jax.numpy as jnp
            from package import solver

            def stacked(a, b):
                results = solver.Result(a), solver.Result(b)
                return jax.tree.map(lambda *it: jnp.stack(it), *results)

            def wrong(a, b):
                results = solver.Forgotten(a), solver.Forgotten(b)
                return jax.tree.map(lambda *it: jnp.stack(it), *results)
        """,
    }
    (tmp_path / "package").mkdir()
    for name, text in files.items():
        (tmp_path / "package" / name).write_text(textwrap.dedent(text).lstrip("\n"))
    issues = audit_paths([str(tmp_path)], Options(jobs=1, cache=False)).issues
    assert {(it.code, it.place.line) for it in issues} == {("PT104", 11)}


def test_methods_of_one_decorator_that_call_each_other():
    program = """
    def once(*names):
        def decorate(method):
            @functools.wraps(method)
            def wrapper(self, *args):
                known = [getattr(self, name) for name in names]
                if all(it is None for it in known):
                    return method(self, *args)
                return known[0]

            return wrapper

        return decorate

    class Problem:
        def __init__(self, points):
            self.points = points
            self.border = None
            self.whole = None
            self.prepare()
            self.whole = self.joined()

        @once("whole")
        def prepare(self):
            self.fill()
            return self.points

        @once("border")
        def fill(self):
            self.border = {"x": jnp.zeros(3)}
            return self.border

        def joined(self):
            return jax.tree.map(lambda a, b: a + b, self.border, {"x": self.points})

    class Unprepared:
        def __init__(self, points):
            self.border = {"y": jnp.zeros(3)}
            self.whole = jax.tree.map(lambda a, b: a + b, self.border, {"x": points})
    """
    assert found("PT203", program) == [38]


def test_a_method_takes_the_axis_that_its_class_asks_for():
    program = """
    class Backend:
        def order(self, keys, axis=-1):
            raise NotImplementedError

    class Flat(Backend):
        def order(self, keys, axis=-1):
            return jnp.argsort(keys)

    class Alone:
        def order(self, keys, axis=-1):
            return jnp.argsort(keys)
    """
    assert found("AX016", program) == [11]


def test_a_method_may_do_something_to_its_object():
    program = """
    def plotted(xs, ys):
        import matplotlib.pyplot as plt

        figure = plt.figure()
        axes = figure.add_subplot(211)
        plt.plot(xs, ys)
        axes = figure.add_subplot(212)
        plt.plot(xs, ys / ys.max())
        return axes

    def encoded(model, x):
        hidden = model.first(x)
        hidden = model.second(x)
        return hidden
    """
    assert found("DF115", program) == [13]


def test_fields_that_are_set_or_computed_on_another_way():
    program = """
    class State(NamedTuple):
        mean: jax.Array
        count: jax.Array

    class Block:
        def __init__(self, width, heads, size):
            if size is None:
                size = width // heads
            self.size = size
            self.heads = heads
            self.inner = State(heads, self.size)

    def advanced(state: State, batch, is_first):
        if is_first:
            count = state.count + 1
            return State(mean=batch, count=count)
        else:
            return State(mean=batch, count=state.count)

    def forgotten(state: State, batch):
        count = state.count + 1
        return State(mean=batch, count=state.count)
    """
    assert found("DF105", program) == [22]


def test_blocks_that_go_in_and_come_out_in_another_order():
    program = """
    def extended(blocks, other):
        s11, s12, s21, s22 = blocks
        s11_next = s11 @ other
        s22_next = s22 + s21 @ other @ s12
        return s11_next, s12, s21, s22_next

    def prepended(scattering, other):
        s22_next, s21, s12, s11_next = extended(
            blocks=(scattering.s22, scattering.s21, scattering.s12, scattering.s11), other=other
        )
        return s11_next, s12, s21, s22_next

    def wrong(scattering, other):
        s22_next, s12, s21, s11_next = extended(
            blocks=(scattering.s11, scattering.s12, scattering.s21, scattering.s22), other=other
        )
        return s11_next, s12, s21, s22_next
    """
    assert found("DF119", program) == [14]


def test_a_loop_that_tries_again_compiles_once():
    program = """
    def timed(f, x):
        def compiled(size):
            def one(it):
                return f(it)

            return jax.jit(lambda it: lax.map(one, it, batch_size=size))

        size = None
        while True:
            try:
                run = compiled(size)
                y = run(x)
                break
            except RuntimeError:
                size = 128 if size is None else size // 2
        return y

    def repeated(f, x):
        for scale in range(10):
            run = jax.jit(lambda it: f(it) * scale)
            x = run(x)
        return x
    """
    assert found("JT304", program) == [20]


def test_a_method_that_takes_a_key_and_leaves_it_alone():
    program = """
    class Layer:
        def init_state(self, shape, key):
            return jax.random.normal(key, shape)

        def init_out(self, shape, *, key=None):
            return jnp.zeros(shape)

        def init_trace(self, shape, *, key=None):
            return jax.random.normal(key, shape)

    def started(layers, shape, key):
        for key, layer in zip(jax.random.split(key, len(layers)), layers):
            state = layer.init_state(shape, key=key)
            out = layer.init_out(shape, key=key)
            yield state, out

    def traced(layers, shape, key):
        for key, layer in zip(jax.random.split(key, len(layers)), layers):
            state = layer.init_state(shape, key=key)
            trace = layer.init_trace(shape, key=key)
            yield state, trace
    """
    assert found("RK001", program) == [20]


def test_a_class_may_register_what_derives_from_it_when_one_is_made():
    program = """
    from library import known

    class Base:
        def __new__(cls, *args, **kwargs):
            return super().__new__(known(cls))

    class Grid(Base):
        def __init__(self, faces):
            self.faces = faces

        def tree_flatten(self):
            return (self.faces,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    @jax.jit
    def width(grid):
        return grid.faces[1:] - grid.faces[:-1]

    made = width(Grid(jnp.arange(4.0)))
    """
    assert found("PT201", program) == []
    plain = program.replace("class Grid(Base)", "class Grid")
    assert found("PT201", plain) == [22]


def test_a_field_that_may_be_nothing_is_asked_whether_it_is():
    program = """
    import flax.struct

    @flax.struct.dataclass
    class Plasma:
        heat: jax.Array
        mass: jax.Array | None = None

        @property
        def total(self):
            return self.heat.sum()

    def weighed(plasma: Plasma):
        if not plasma.mass:
            return plasma.total
        return plasma.mass * 2

    @jax.jit
    def entry(plasma):
        return weighed(plasma)
    """
    assert found("JT201", program) == []
    given = "\n    made = entry(Plasma(jnp.ones(3), jnp.ones(3)))\n"
    assert found("JT201", program + given) == [13]


def test_a_record_of_which_only_the_class_is_known_is_no_leaf():
    program = """
    import dataclasses

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Plasma:
        heat: jax.Array
        mass: jax.Array

        def smooth(self, kernel, plasma: "Plasma"):
            def smoothed(x):
                return lax.cond(jnp.all(x == 0.0), lambda: x, lambda: kernel @ x)

            return jax.tree.map(smoothed, plasma)

    @jax.jit
    def entry(plasma: Plasma, kernel):
        def smoothed(x):
            return lax.cond(jnp.all(x == 0.0), lambda: x, lambda: kernel @ x)

        return jax.tree.map(smoothed, plasma)
    """
    assert found("JT206", program) == []
    changed = program.replace("lambda: kernel @ x", "lambda: (kernel @ x, x)")
    assert found("JT206", changed) == [11, 18]


def test_a_record_of_numbers_beside_a_tree_of_which_nothing_is_known():
    program = """
    class Pose(NamedTuple):
        angle: jax.Array
        shift: jax.Array

    def miss(pose, image):
        return jnp.sum((pose.shift * image - pose.angle) ** 2)

    @jax.jit
    def fit(pose, image):
        rates = Pose(angle=0.02, shift=1.0)

        def step(pose, _):
            slope = jax.grad(miss)(pose, image)
            return jax.tree.map(lambda p, r, g: p - r * g, pose, rates, slope), None

        return lax.scan(step, pose, None, length=3)
    """
    assert found("JT204", program) == []
