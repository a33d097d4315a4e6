"""Classes as trees: what they keep apart, what may be changed, and what is a copy."""

from .reading import found


def test_an_attribute_of_a_frozen_object_is_set():
    program = """
    import dataclasses
    from typing import NamedTuple
    import chex
    import equinox as eqx

    @dataclasses.dataclass(frozen=True)
    class Config:
        rate: float

    @chex.dataclass(frozen=True)
    class Carry:
        x: jax.Array

    class Pair(NamedTuple):
        a: jax.Array
        b: jax.Array

    class Layer(eqx.Module):
        w: jax.Array

        def scaled(self, by):
            self.w = self.w * by
            return self

    def change(config: Config, carry: Carry, x):
        config.rate = 0.5
        carry.x = x
        pair = Pair(x, x)
        pair.a = 2 * x
        return pair
    """
    assert found("PT204", program) == [22, 26, 27, 29]


def test_objects_may_be_filled_in_while_they_are_made_and_others_changed():
    program = """
    import dataclasses
    import chex
    import equinox as eqx

    class Layer(eqx.Module):
        w: jax.Array
        b: jax.Array

        def __init__(self, n):
            self.w = jnp.zeros(n)
            self._finish(n)

        def _finish(self, n):
            self.b = jnp.ones(n)

    @dataclasses.dataclass
    class Counter:
        n: int = 0

    @chex.dataclass
    class Carry:
        x: jax.Array

    @dataclasses.dataclass(frozen=True)
    class Tuned:
        rate: float

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)

    def change(counter: Counter, carry: Carry, tuned: Tuned):
        counter.n += 1
        carry.x = carry.x + 1
        tuned.rate = 0.1
        return carry
    """
    assert found("PT204", program) == []


def test_an_optimiser_of_flax_changes_a_copy_under_plain_jit():
    program = """
    import optax
    from flax import nnx

    def loss(model, x):
        return (model(x) ** 2).mean()

    {decorator}
    def step(model, optimizer, x):
        grads = nnx.grad(loss)(model, x)
        optimizer.update(model, grads)
        return {result}

    def run(x):
        model = nnx.Linear(3, 1, rngs=nnx.Rngs(0))
        optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)
        return step(model, optimizer, x)
    """
    assert found("PT107", program.format(decorator="@jax.jit", result="x")) == [10]
    assert found("PT107", program.format(decorator="@nnx.jit", result="x")) == []
    kept = program.format(decorator="@jax.jit", result="model, optimizer")
    assert found("PT107", kept) == []


def test_static_data_that_holds_arrays():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Sparse:
        def __init__(self, rows, data, size):
            self.rows, self.data, self.size = rows, data, size

        def tree_flatten(self):
            return (self.data,), (self.rows, self.size)

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(aux[0], children[0], aux[1])

    @jax.jit
    def total(matrix):
        return matrix.data.sum()

    def run(data):
        return total(Sparse(jnp.arange(3), data, 3))
    """
    assert found("PT106", program) == [7]
    assert found("PT106", program.replace("jnp.arange(3)", "(0, 1, 2)")) == []


def test_fields_that_a_registration_names_as_static():
    program = """
    import dataclasses

    @functools.partial(
        jax.tree_util.register_dataclass,
        data_fields=["x"],
        meta_fields=["scale", "mask"],
    )
    @dataclasses.dataclass
    class Batch:
        x: jax.Array
        mask: jax.Array
        scale: float
    """
    assert found("PT106", program) == [6]


def test_constructors_that_need_more_than_was_flattened():
    program = """
    class Band:
        def __init__(self, main, upper, lower):
            self.main, self.upper, self.lower = main, upper, lower

    jax.tree_util.register_pytree_node(
        Band,
        lambda it: ((it.main, it.upper), None),
        lambda _, parts: Band(*parts),
    )

    class Full:
        def __init__(self, main, upper, lower=0.0):
            self.main, self.upper, self.lower = main, upper, lower

    jax.tree_util.register_pytree_node(
        Full,
        lambda it: ((it.main, it.upper, it.lower), None),
        lambda _, parts: Full(*parts),
    )
    """
    assert found("PT101", program) == [8]


def test_what_is_forgotten_is_missing_where_the_object_is_taken_apart():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Track:
        def __init__(self, x, rate=0.9):
            self.x, self.rate = x, rate

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)
    """
    assert found("PT101", program) == [7]


def test_a_result_of_an_unknown_class_is_told_where_it_is_returned():
    program = """
    class Result:
        def __init__(self, value):
            self.value = value

    @jax.jit
    def f(x):
        if x.ndim > 1:
            return x.sum()
        y = 2 * x
        return Result(y)
    """
    assert found("PT201", program) == [10]


def test_tuples_that_a_map_has_made_are_no_leaves_of_the_next():
    program = """
    def both(p, g):
        return p - g, g

    def update(params, grads):
        pairs = jax.tree.map(both, {"w": params, "b": params}, {"w": grads, "b": grads})
        wrong = jax.tree.map(lambda it: it[0], pairs)
        right = jax.tree.map(lambda it: it[0], pairs, is_leaf=lambda it: isinstance(it, tuple))
        rows = jax.tree.map(lambda it: it[0], {"w": params})
        return wrong, right, rows
    """
    assert found("PT103", program) == [6]


def test_an_object_that_the_mapped_function_takes_apart_is_a_leaf_on_purpose():
    program = """
    import dataclasses

    @dataclasses.dataclass
    class Out:
        update: jax.Array
        state: jax.Array

    def run(x, y):
        outs = {"a": Out(x, y)}
        updates = jax.tree.map(lambda it: it.update, outs)
        return updates, jax.tree.map(jnp.zeros_like, outs)
    """
    assert found("PT104", program) == [11]


def test_a_list_of_any_length_is_mapped_element_by_element():
    program = """
    def front(xs, axis):
        def move(x):
            return jnp.transpose(x, (axis, *range(axis)))

        return jax.tree.map(move, tuple(x for x in xs))
    """
    assert found("JT204", program) == []


def test_containers_of_arrays_are_as_little_static_as_arrays():
    program = """
    from typing import Callable, Optional
    import equinox as eqx

    class Net(eqx.Module):
        weights: list[jax.Array] = eqx.field(static=True)
        table: "dict[str, jax.Array] | None" = eqx.field(static=True)
        act: Callable[[jax.Array], jax.Array] = eqx.field(static=True)
        sizes: tuple[int, ...] = eqx.field(static=True)
        biases: Optional[list[jax.Array]]
    """
    assert found("PT106", program) == [5, 6]


def test_a_decorator_of_the_projects_own_registers_what_it_stands_above():
    program = """
    def tree(cls):
        jax.tree_util.register_pytree_node(
            cls, lambda it: (tuple(vars(it).values()), None), lambda _, parts: cls(*parts)
        )
        return cls

    @tree
    class Known:
        def __init__(self, x):
            self.x = x

    class Unknown:
        def __init__(self, x):
            self.x = x

    @jax.jit
    def f(thing):
        return thing.x

    def run(x):
        return f(Known(x)) + f(Unknown(x))
    """
    assert found("PT201", program) == [21]
    looped = program.replace("    @tree\n    class Known", "    class Known") + (
        "    for it in (Known, Unknown):\n        tree(it)\n"
    )
    assert found("PT201", looped) == []


def test_a_module_of_flax_is_frozen_after_its_setup():
    program = """
    from flax import linen as nn

    class Encoder(nn.Module):
        width: int

        def setup(self):
            self.layer = nn.Dense(self.width)
            self._more()

        def _more(self):
            self.scale = 2.0

        def __call__(self, x):
            self.calls = 1
            return self.scale * self.layer(x)
    """
    assert found("PT204", program) == [14]


def test_a_module_of_flax_that_nobody_has_bound_can_be_changed():
    program = """
    from flax import linen as nn

    class Encoder(nn.Module):
        width: int
        transform: object = None

        def __call__(self, x):
            return nn.Dense(self.width)(self.transform(x))

        def transform_by(self, function):
            self.transform = function

    class Policy:
        def __init__(self, width):
            self.encoder = Encoder(width)

        def build(self, key):
            self.encoder.apply = jax.jit(self.encoder.apply)
            return self.encoder.init(key, jnp.ones(3))
    """
    assert found("PT204", program) == []
    bound = program.replace(
        "x):\n            return", "x):\n            self.width = 3\n            return"
    )
    assert found("PT204", bound) == [8]
    asked = program.replace("self.transform = function", 'self.w = self.param("w", function)')
    assert found("PT204", asked) == [11]


def test_a_frozen_object_that_is_unlocked_around_a_change():
    program = """
    import contextlib
    from flax import struct

    @struct.dataclass
    class State:
        x: jax.Array

        @contextlib.contextmanager
        def unlocked(self):
            yield self

    def move(state: State, lock):
        with state.unlocked():
            state.x = state.x + 1.0
        with lock:
            state.x = state.x + 1.0
        return state
    """
    assert found("PT204", program) == [16]


def test_children_that_are_trees_are_put_together_before():
    program = """
    class Grid(np.ndarray):
        def __new__(cls, cells):
            return np.asarray(cells).view(cls)

    jax.tree_util.register_pytree_node(
        Grid,
        lambda grid: (grid.ravel().tolist(), grid.shape),
        lambda shape, cells: Grid(np.asarray(cells).reshape(shape)),
    )
    """
    assert found("JT202", program) == []


def test_what_is_asked_of_a_child_is_no_child():
    program = """
    class Problem:
        def __init__(self, points=None, costs=None):
            self.points = points if costs is None else costs
            self.from_costs = costs is not None

    def apart(it):
        if it.from_costs:
            return (None, it.points), None
        return (it.points, None), None

    jax.tree_util.register_pytree_node(Problem, apart, lambda _, parts: Problem(*parts))
    """
    assert found("PT101", program) == []


def test_a_marker_among_fields_is_no_field():
    program = """
    import dataclasses

    @functools.partial(jax.tree_util.register_dataclass, data_fields=["x"], meta_fields=["size"])
    @dataclasses.dataclass
    class Box:
        x: jax.Array
        _: dataclasses.KW_ONLY
        size: int
    """
    assert found("PT101", program) == []
    assert found("PT101", program.replace("dataclasses.KW_ONLY", "int")) == [3]


def test_a_decorator_of_the_project_that_leaves_objects_open():
    program = """
    from flax import struct

    slots = functools.partial(struct.dataclass, frozen=False, slots=True)
    by_name = functools.partial(slots, kw_only=True)

    @by_name
    class Config:
        size: int

    def wider(config: Config):
        config.size = 2 * config.size
        return config
    """
    assert found("PT204", program) == []
    assert found("PT204", program.replace("frozen=False, ", "")) == [11]


def test_the_last_word_on_freezing_counts():
    program = """
    import dataclasses

    frozen = functools.partial(dataclasses.dataclass, frozen=True)
    open_again = functools.partial(frozen, frozen=False)

    @open_again
    class State:
        x: jax.Array

    def double(state: State):
        state.x = 2 * state.x
        return state
    """
    assert found("PT204", program) == []
    assert found("PT204", program.replace("@open_again", "@frozen")) == [11]


def test_a_class_that_derives_from_a_registered_one():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Cloud:
        def __init__(self, points):
            self.points = points

        def tree_flatten(self):
            return (self.points,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    class Pose(Cloud):
        pass

    @jax.jit
    def move(cloud):
        return cloud.points + 1.0

    move(Cloud(jnp.ones(3)))
    move(Pose(jnp.ones(3)))
    """
    assert found("PT201", program) == [13]


def test_whole_numbers_among_leaves_have_no_derivative():
    program = """
    import equinox as eqx

    class Potential(eqx.Module):
        weights: jax.Array
        order: int FIELD

        def __call__(self, x):
            return (self.weights * x**self.order).sum()

    def loss(potential, x):
        return potential(x)

    def fit(weights, x):
        potential = Potential(weights, 2)
        wrong = jax.grad(loss)(potential, x)
        filtered = eqx.filter_grad(loss)(potential, x)
        whole = jax.grad(loss, allow_int=True)(potential, x)
        real = jax.grad(lambda p: (p["w"] * p["scale"]).sum())({"w": weights, "scale": 2.0})
        return wrong, filtered, whole, real
    """
    assert found("PT202", program.replace("FIELD", "")) == [15]
    assert found("PT202", program.replace("FIELD", "= eqx.field(static=True)")) == []


def test_an_object_that_is_called_is_no_argument_of_its_transformation():
    program = """
    class Tower:
        def __init__(self, depth):
            self.depth = depth

        def __call__(self, params, x):
            return jnp.sum(params * x) * self.depth

    def outer(tower, params, x):
        return tower(params, x)

    def entry(x):
        tower = Tower(3)
        mapped = jax.vmap(tower, in_axes=(None, 0))(2.0, x)
        apply = jax.jit(tower)
        grads = jax.grad(tower)(x, x)
        return apply(x, x), mapped, grads, jax.jit(outer)(tower, x, x)
    """
    assert found("PT201", program) == [16]


def test_a_class_that_is_not_registered_inside_of_one_that_is():
    program = """
    import dataclasses
    import equinox as eqx

    @dataclasses.dataclass
    class Spline:
        knots: jax.Array
        heights: jax.Array

    class Module(eqx.Module):
        radial: Spline
        bias: jax.Array

    class Fixed(eqx.Module):
        bias: jax.Array
        radial: Spline = eqx.field(static=True)

    def loss(model, x):
        return jnp.sum(model.radial.heights * x) + model.bias

    def parts(model):
        arrays, rest = eqx.partition(model, eqx.is_inexact_array)
        doubled = jax.tree.map(lambda it: 2.0 * it, arrays)
        return eqx.combine(doubled, rest)

    def entry(knots, heights, x):
        model = Module(Spline(knots, heights), jnp.zeros(()))
        grads = eqx.filter_grad(loss)(model, x)
        fixed = Fixed(jnp.zeros(()), Spline(knots, heights))
        return parts(model), grads, eqx.filter(fixed, eqx.is_array), eqx.filter_grad(loss)(fixed, x)
    """
    assert found("PT104", program) == [5, 27]
    assert found("PT201", program) == []
    registered = program.replace(
        "@dataclasses", "@jax.tree_util.register_dataclass\n    @dataclasses"
    )
    assert found("PT104", registered) == []


def test_objects_that_are_put_together_without_their_constructor():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Interval:
        def __init__(self, *, low, high, unit="1"):
            self.low, self.high, self.unit = low, high, unit

        def tree_flatten(self):
            return (self.low, self.high), (self.unit,)

        @classmethod
        def tree_unflatten(cls, aux, children):
            made = MAKING(cls)
            ENDS = children
            (made.unit,) = aux
            return made

    @jax.tree_util.register_pytree_node_class
    class Named(Interval):
        @classmethod
        def tree_unflatten(cls, aux, children):
            made = MAKING(cls)
            for name, value in zip(("low", "high"), children):
                object.__setattr__(made, name, value)
            made.__dict__.update(unit=aux[0])
            return made
    """
    for making in ("object.__new__", "cls.__new__", "super().__new__"):
        made = program.replace("MAKING", making)
        assert found("PT101", made.replace("ENDS", "made.high, made.low")) == [11]
        assert found("PT101", made.replace("ENDS", "made.low, made.high")) == []
