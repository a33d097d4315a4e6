"""Tracers in objects of the program's own: their fields, operators, methods and caches."""

from .reading import found


def test_numbers_in_the_fields_of_a_tree_are_tracers_inside():
    program = """
    from flax import struct

    @struct.dataclass
    class Options:
        clip: float = 1.0
        double: bool = False
        depth: int = struct.field(pytree_node=False, default=2)

    @jax.jit
    def step(options, x):
        for _ in range(options.depth):
            x = x + 1
        if options.double:
            x = 2 * x
        return x

    def run(x):
        return step(Options(clip=0.5, double=True, depth=3), x)
    """
    assert found("JT201", program) == [13]
    assert found("JT202", program) == []


def test_equinox_keeps_numbers_as_they_are_where_it_filters():
    program = """
    import equinox as eqx

    class Layer(eqx.Module):
        weight: jax.Array
        residual: bool = True

    @eqx.filter_jit
    def apply(layer, x):
        y = layer.weight @ x
        return x + y if layer.residual else y

    def run(x):
        return apply(Layer(jnp.eye(3), False), x)
    """
    assert found("JT201", program) == []


def test_what_a_class_flattens_to_is_traced_and_nothing_else():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Grid:
        def __init__(self, field, levels, wrap):
            self.field, self.levels, self.wrap = field, levels, wrap

        def tree_flatten(self):
            return (self.field, self.levels), self.wrap

        @classmethod
        def tree_unflatten(cls, wrap, children):
            return cls(*children, wrap)

    @jax.jit
    def refine(grid):
        x = grid.field
        if grid.wrap:
            x = jnp.roll(x, 1)
        for _ in range(grid.levels):
            x = jnp.repeat(x, 2)
        return x

    def run(field):
        return refine(Grid(field, 3, True))
    """
    assert found("JT202", program) == [18]
    assert found("JT201", program) == []


def test_an_operator_runs_the_method_of_the_object():
    program = """
    from typing import NamedTuple

    class Money:
        def __init__(self, amount):
            self.amount = amount

        def __add__(self, other):
            if other.amount < 0:
                raise ValueError("debt")
            return Money(self.amount + other.amount)

        def __neg__(self):
            return Money(float(self.amount))

        def __lt__(self, other):
            return self.amount < other.amount

    @jax.jit
    def total(x, y):
        both = Money(x) + Money(y)
        less = -both
        if Money(x) < Money(y):
            return less.amount
        return both.amount
    """
    assert found("JT201", program) == [8, 22]
    assert found("JT202", program) == [13]


def test_an_object_is_put_together_from_tracers():
    program = """
    class Range:
        def __init__(self, low, high):
            if low > high:
                raise ValueError("empty")
            self.low, self.high = low, high

    jax.tree_util.register_pytree_node(
        Range, lambda it: ((it.low, it.high), None), lambda _, parts: Range(*parts)
    )

    class Safe:
        def __init__(self, low, high):
            if low > high:
                raise ValueError("empty")
            self.low, self.high = low, high

    def make(_, parts):
        made = object.__new__(Safe)
        made.low, made.high = parts
        return made

    jax.tree_util.register_pytree_node(Safe, lambda it: ((it.low, it.high), None), make)
    """
    assert found("JT201", program) == [3]


def test_math_takes_numbers_and_numpy_leaves_some_functions_to_the_array():
    program = """
    import math

    @jax.jit
    def f(x):
        scale = math.sqrt(x.shape[0]) * math.pi
        y = np.mean(x) + np.transpose(x).sum() + np.max(x)
        z = math.exp(y)
        return scale * z + np.log(y)
    """
    assert found("JT202", program) == [7, 8]


def test_a_cached_function_keeps_a_tracer():
    program = """
    @functools.lru_cache(maxsize=None)
    def table(n):
        return jnp.arange(n) ** 2

    @functools.cache
    def constants(n):
        return np.arange(n) ** 2

    @functools.cache
    def early(n):
        with jax.ensure_compile_time_eval():
            return jnp.arange(n) ** 2

    @functools.cache
    def compiled(n):
        return jax.jit(lambda x: x[:n])

    @jax.jit
    def f(x):
        n = x.shape[0]
        return compiled(n)(x) + table(n) + constants(n) + early(n)

    def on_the_host(n):
        return table(n)
    """
    assert found("JT108", program) == [1]


def test_a_cached_property_of_what_outlives_the_jit_keeps_a_tracer():
    program = """
    class Basis:
        def __init__(self, size):
            self.size = size

        @functools.cached_property
        def vectors(self):
            return jnp.eye(self.size)

        @functools.cached_property
        def count(self):
            return self.size * 2

    basis = Basis(3)

    @jax.jit
    def outside(x):
        return basis.vectors @ x / basis.count

    @jax.jit
    def inside(x):
        return Basis(3).vectors @ x
    """
    assert found("JT108", program) == [5]
    assert found("JT108", program.replace("outside(x)", "f(x)").replace("basis.vectors", "x")) == []


def test_what_is_put_into_an_outer_container_is_outside():
    program = """
    HISTORY = {}

    def remember(name, value):
        HISTORY.setdefault(name, []).append(value)

    def local(value):
        kept = {}
        kept.setdefault("a", []).append(value)
        return kept

    @jax.jit
    def step(x):
        HISTORY["new"] = []
        remember("x", x)
        HISTORY["new"].append(x)
        return local(x)
    """
    assert found("JT101", program) == [4, 13, 15]


def test_a_cond_of_five_arguments_has_two_operands():
    program = """
    def up(state, amount):
        return {"x": state["x"] + amount, "n": state["n"]}

    def down(state, amount):
        return {"x": state["x"] - amount}

    def step(state, amount):
        return lax.cond(amount > 0, up, down, state, amount)
    """
    assert found("JT206", program) == [8]


def test_the_second_turn_of_a_loop_starts_where_the_first_one_ended():
    program = """
    @jax.jit
    def solve(x):
        error = np.inf
        steps = 0
        while steps < 10 and error > 1e-3:
            x = 0.5 * (x + 2.0 / x)
            error = jnp.abs(x * x - 2.0)
            steps += 1
        return x

    @jax.jit
    def fixed(x):
        previous = None
        for _ in range(10):
            if previous is not None:
                x = x + previous
            previous = x
        return x
    """
    assert found("JT201", program) == [5]


def test_static_numbers_of_a_bound_method_do_not_count_the_object():
    program = """
    class Solver:
        def __init__(self):
            self.run = jax.jit(self._run, static_argnums=1)

        def _run(self, x, steps):
            for _ in range(steps):
                x = x + 1
            if x.sum() > 0:
                return x
            return -x
    """
    assert found("JT201", program) == [8]
    assert found("JT202", program) == []


def test_code_that_asks_whether_it_is_traced_knows_what_it_does():
    program = """
    class Solver:
        def __init__(self, jit):
            self.jit = jit
            self.step = jax.jit(self._step) if jit else self._step

        def _step(self, x):
            error = jnp.abs(x).max()
            if not self.jit:
                if error > 10.0:
                    raise ValueError("diverged")
            return x / 2
    """
    assert found("JT201", program) == []
    assert found("JT201", program.replace("not self.jit", "not self.quiet")) == [9]


def test_objects_check_themselves_after_they_were_made():
    program = """
    import dataclasses
    import equinox as eqx

    class Halo(eqx.Module):
        mass: jax.Array
        axes: tuple = eqx.field(static=True, default=(1.0, 1.0))

        def __check_init__(self):
            if len(self.axes) != 2 or self.mass <= 0:
                raise ValueError("no halo")

    @dataclasses.dataclass
    class Step:
        size: float

        def __post_init__(self):
            if self.size <= 0:
                raise ValueError("no step")

    @jax.jit
    def inside(x):
        return Halo(jnp.exp(x)).mass + Step(x).size

    def outside():
        return Step(0.5)
    """
    assert found("JT201", program) == [9, 17]


def test_a_mask_in_an_update_needs_to_be_known():
    program = """
    @jax.jit
    def f(scores, lengths):
        valid = jnp.arange(scores.shape[-1])[None] < lengths[:, None]
        scores = scores.at[~valid].set(-1e6)
        return scores.at[lengths].add(1.0).at[:2].set(0.0)
    """
    assert found("JT203", program) == [4]


def test_an_array_is_donated_and_given_a_second_time():
    program = """
    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def update(params, target, batch):
        return params - batch, 0.9 * target + 0.1 * params

    def train(batches):
        params = jnp.ones(3)
        target = params
        for batch in batches:
            params, target = update(params, target, batch)
        return params

    def apart(batches):
        params = jnp.ones(3)
        target = jnp.copy(params)
        for batch in batches:
            params, target = update(params, target, batch)
        return params

    def plain(params):
        return jax.jit(lambda a, b: a + b)(params, params)
    """
    assert found("JT106", program) == [9]


def test_static_numbers_of_a_partial_count_what_is_left():
    program = """
    def loss(config, params, kind):
        return params.sum() if kind == "sum" else params.mean()

    def build(config):
        bound = functools.partial(loss, config)
        return jax.jit(bound, static_argnums=1), jax.jit(bound, static_argnums=2)
    """
    assert found("JT105", program) == [6]


def test_a_flag_of_training_is_traced():
    program = """
    from flax import linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, deterministic):
            return nn.Dropout(0.5, deterministic=deterministic)(x)

    net = Net()

    @jax.jit
    def apply(variables, x, train):
        if train:
            x = x + 1
        return x

    @jax.jit
    def predict(variables, x, deterministic):
        return net.apply(variables, x, deterministic)

    @functools.partial(jax.jit, static_argnames="train")
    def chosen(variables, x, train):
        if train:
            x = x + 1
        return net.apply(variables, x, True)
    """
    assert found("JT201", program) == [6, 12]


def test_an_annotation_tells_what_a_helper_is_given():
    program = """
    class Graph(NamedTuple):
        nodes: jax.Array
        counts: jax.Array
        name: str

    def owners(graph: Graph):
        return jnp.repeat(jnp.arange(graph.counts.shape[0]), graph.counts)

    def update(graph, params):
        for p in params["layers"]:
            graph = graph._replace(nodes=graph.nodes @ p)
        return graph

    @jax.jit
    def pool(params, graph):
        graph = update(graph, params)
        return jax.ops.segment_sum(graph.nodes, owners(graph), num_segments=8)
    """
    assert found("JT203", program) == [7]


def test_an_object_that_is_changed_before_it_is_handed_on_keeps_its_changes():
    program = """
    class Options(NamedTuple):
        depth: int
        scale: jax.Array

    def apply(options: Options, x):
        for _ in range(options.depth):
            x = x * options.scale
        return x

    @jax.jit
    def run(options, x):
        return apply(options._replace(depth=3), x)
    """
    assert found("JT202", program) == []


def test_a_static_object_holds_what_its_constructor_gives_it():
    program = """
    class Writer:
        def write(self, step, values):
            print(step, values)

    class Learner:
        def __init__(self, writer=None, verbose=False):
            self.writer = writer or Writer()
            self.spare = None
            self.verbose = verbose

        @partial(jax.jit, static_argnums=0)
        def update(self, params, batch):
            loss = jnp.mean((params - batch) ** 2)
            self.writer.write(0, {"loss": loss})
            return loss if self.spare is None else self.spare(loss)

        def tell(self, loss):
            self.writer.write(1, {"loss": loss})
    """
    assert found("JT102", program) == [14]


def test_the_default_of_a_parameter_is_one_of_several_classes():
    program = """
    class Writer:
        def write(self, value):
            print(value)

    class Silent(Writer):
        def write(self, value):
            return value

    @jax.jit
    def update(x):
        return x + 1

    def make(writer=None):
        writer = writer or Writer()

        @jax.jit
        def step(x):
            writer.write(x)
            return x

        return step
    """
    assert found("JT102", program) == []


def test_a_list_that_grows_between_calls():
    program = """
    class Filter:
        def __init__(self):
            self.taps = []
            self.seen = []
            self.run = jax.jit(self._run)

        def _run(self, x):
            for tap in self.taps:
                x = x + tap * jnp.roll(x, 1)
            return x

    def tune(x):
        bank = Filter()
        for tap in (0.5, 0.25, 0.125):
            x = bank.run(x)
            bank.seen.append(x.shape)
            bank.taps.append(tap)
        return x

    def fixed(x):
        bank = Filter()
        for tap in (0.5, 0.25, 0.125):
            bank.taps.append(tap)
        return bank.run(x)
    """
    assert found("JT103", program) == [8]


def test_parameters_that_a_compiled_lambda_takes_from_the_object_that_is_fitted():
    program = """
    class Model:
        def __init__(self, size):
            self.params = {"w": jnp.zeros(size)}
            self.scale = 2.0
            self.predict = jax.jit(lambda x: self.scale * (x @ self.params["w"]))
            self.right = jax.jit(lambda params, x: self.scale * (x @ params["w"]))

        def fit(self, x, y):
            self.params = {"w": jnp.linalg.lstsq(x, y)[0]}
            return self
    """
    assert found("JT103", program) == [5]
    again = program.replace("return self", "self.predict = jax.jit(lambda x: x * self.scale)")
    assert found("JT103", again) == []


def test_a_dict_that_is_another_one_at_the_next_call():
    program = """
    def run(x):
        params = {"w": x, "b": 1.0}
        step = jax.jit(lambda v: v * sum(jax.tree.leaves(params)))
        first = step(x)
        params = {"w": x, "b": CHANGED}
        return first, step(x)
    """
    assert set(found("JT103", program.replace("CHANGED", "2.0"))) == {3}
    assert found("JT103", program.replace("CHANGED", "1.0")) == []


def test_a_property_and_a_class_method_of_a_named_tuple():
    program = """
    class Step(NamedTuple):
        x: jax.Array
        error: jax.Array

        @property
        def is_done(self):
            return self.error < 1e-6

        @property
        def rank(self):
            return self.x.ndim

        @classmethod
        def at(cls, x):
            return cls(x, jnp.abs(x).max())

    @jax.jit
    def entry(x):
        step = Step.at(x).at(2 * x)
        if step.rank > 1:
            return x
        return x if step.is_done else -x

    def inputs():
        return (jnp.ones(3),)
    """
    assert found("JT201", program) == [22]
