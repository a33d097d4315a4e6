"""Right classes, modules and calls of real packages that were taken for wrong."""

import textwrap
from pathlib import Path

from verax.audit.source.engine import audit_paths

from .reading import found


def test_a_lambda_in_a_class_is_not_a_method():
    program = """
    class Devices:
        mean = jax.pmap(lambda x: lax.pmean(x, "x"), "x")

        def synchronised(self, state):
            return Devices.mean(state)

        @jax.jit
        def kept(self, state):
            return state
    """
    assert found("PT201", program) == [7]


def test_a_field_of_a_base_class_is_one_of_the_object():
    program = """
    from flax import struct

    @struct.dataclass
    class Base:
        rng: jax.Array = struct.field(default=None)

    @struct.dataclass
    class Chains(Base):
        beta: jax.Array = struct.field(default=None)

    def sample(state: Chains):
        def body(i, state: Chains):
            rng, sub = jax.random.split(state.rng)
            return state.replace(rng=rng, beta=state.beta + jax.random.normal(sub))

        return lax.fori_loop(0, 8, body, state)
    """
    assert found("RK002", program) == []


def test_a_property_is_set_through_its_setter():
    program = """
    class Variable:
        def __init__(self, value):
            self._value = value

        @property
        def value(self):
            return self._value

        @value.setter
        def value(self, value):
            self._value = value

        def split(self):
            keys = jax.random.split(self.value)
            self._value = keys[0]
            return keys[1]

    class Generator:
        def __init__(self, seed):
            self.seed, self._key = seed, None

        @property
        def key(self):
            if self._key is None:
                self._key = Variable(jax.random.PRNGKey(self.seed))
            return self._key

        def __call__(self):
            return self.key.split()

    GENERATOR = Generator(0)

    def layers(count):
        a = jax.random.normal(GENERATOR(), (3,))
        b = jax.random.normal(GENERATOR(), (3,))
        return a, b, [jax.random.normal(GENERATOR()) for _ in range(count)]
    """
    assert found("RK001", program) == []
    assert found("RK002", program) == []


def test_a_name_for_checkers_only_is_not_there_when_the_program_runs():
    program = """
    import dataclasses
    import typing
    from flax import struct

    dataclass = struct.dataclass if not typing.TYPE_CHECKING else dataclasses.dataclass

    @dataclass
    class Settings:
        width: int

    @functools.partial(jax.jit, static_argnums=1)
    def model(x, settings):
        return x * settings.width

    def run(x):
        return model(x, Settings(3))
    """
    assert found("JT105", program) == []
    assert found("JT105", program.replace("if not typing", "if typing")) == [16]


def test_an_abstract_class_has_no_objects():
    program = """
    import abc

    class Operator(abc.ABC):
        @abc.abstractmethod
        def connected(self, x):
            pass

        @jax.jit
        def count(self, x):
            return self.connected(x).sum()
    """
    assert found("PT201", program) == []
    assert found("PT201", program.replace("@abc.abstractmethod", "")) == [8]


def test_a_protocol_is_a_promise_that_many_classes_keep():
    program = """
    from typing import Protocol

    class State(Protocol):
        position: jax.Array

    class Fixed:
        position: jax.Array

        def __init__(self, position):
            self.position = position

    def count(states: State, x):
        count = len(jax.tree.leaves(states))
        return count, jax.tree.leaves(Fixed(jnp.ones(3)))
    """
    assert found("PT104", program) == [14]


def test_a_list_that_a_constructor_leaves_empty():
    program = """
    class Module:
        def __init__(self):
            self.points = []

        def centre(self):
            return jnp.concatenate(self.points).mean()
    """
    assert found("AX201", program) == []


def test_an_object_is_changed_while_it_is_made():
    program = """
    class Sun:
        def __init__(self, flux):
            self.flux = flux

        def heat(self, x):
            return self.flux * x

        @classmethod
        def normalised(cls, flux):
            sun = cls(flux)
            sun.flux /= flux + 1.0
            return sun

        def dim(self):
            return None

    def run(x, flux):
        return jax.jit(Sun.normalised(flux).heat)(x)
    """
    assert found("JT103", program) == []
    assert found("JT103", program.replace("return None", "self.flux /= 2")) == [6]


def test_what_calls_and_axes_give_takes_the_place_of_a_default():
    program = """
    def layers(x, theta, with_parts=False):
        if with_parts:
            return x, theta, x * theta
        return x, theta

    def mapped(x, theta):
        few = jax.vmap(layers, (0, None), (0, None))(x, theta)
        return few, jax.vmap(layers, (0, None, None), (0, None, 0))(x, theta, True)

    def sampled(x, blocks=None):
        if blocks is None:
            return np.asarray(x).sum()
        return x * blocks

    compiled = jax.jit(sampled)

    def run(x, size: int):
        return compiled(x, blocks=jnp.ones(3))
    """
    assert found("VM202", program) == []


def test_a_function_in_a_class_that_takes_no_object():
    program = """
    class Deviate:
        def discard(self, n):
            self._key = Deviate._discard(self._key, n)

        @jax.jit
        def _discard(key, n):
            return lax.fori_loop(0, n, lambda i, key: jax.random.split(key)[0], key)
    """
    assert found("SC201", program) == []
    assert found("PT201", program) == []


def test_a_typed_dict_is_a_dict():
    program = """
    from typing import TypedDict

    class Sampler(TypedDict):
        count: jax.Array

    def insert(sampler: Sampler, xs):
        def body(sampler, x):
            return {**sampler, "count": sampler["count"] + x}, x

        return lax.scan(body, sampler, xs)

    def fresh(xs):
        return insert(Sampler(count=jnp.zeros(3)), xs)
    """
    assert found("SC201", program) == []


def test_a_circle_of_imports_ends(tmp_path: Path):
    circle = {
        "one": "from two import f, g",
        "two": "from three import f, g",
        "three": "from two import f, g\nfrom one import f as h\n\nx = f(g, h)",
    }
    for name, text in circle.items():
        (tmp_path / f"{name}.py").write_text(text)
    report = audit_paths([str(tmp_path)])
    assert (report.findings, report.notes) == ((), ())


def test_an_object_made_anew_from_a_dict_of_its_parts():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Offset:
        def __init__(self, scale, origin):
            self.params = {"scale": scale, "origin": origin}
            self.scale, self.origin = scale, origin

        def tree_flatten(self):
            return (self.params,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(**children[0])
    """
    assert found("PT101", program) == []
    assert found("PT101", program.replace("**children[0]", "children[0]")) == [12]


def test_a_named_tuple_with_methods_is_called_and_computed_with():
    program = """
    from typing import NamedTuple

    class Affine(NamedTuple):
        scale: jax.Array
        shift: jax.Array

        def __call__(self, x):
            return self.scale * x + self.shift

        def __matmul__(self, other):
            return Affine(self.scale * other.scale, self.scale * other.shift + self.shift)

    def apply(first: Affine, second: Affine, rows):
        return jax.vmap(first @ second)(rows)
    """
    assert found("VM202", program) == []
    without = program.replace("__call__", "apply")
    assert found("VM202", without) == [14]


def test_members_of_an_enum_are_what_its_constructor_makes():
    program = """
    from enum import IntEnum

    class Status(IntEnum):
        def __new__(cls, code, message):
            member = int.__new__(cls, code)
            member.message = message
            return member

        fine = (0, "it has converged")
        stuck = (1, "it makes no progress")

    def solve(x):
        state = {"x": x, "status": Status.fine}

        def step(i, state):
            worse = jnp.where(i > 3, Status.stuck, state["status"])
            return {"x": 0.5 * state["x"], "status": worse}

        return lax.fori_loop(0, 9, step, state)
    """
    assert found("JT204", program) == []
    assert found("JT204", program.replace("(IntEnum)", "")) != []


def test_an_object_may_be_of_a_class_that_nobody_has_asked_for_yet(tmp_path: Path):
    shapes = """
        import dataclasses
        import jax

        @dataclasses.dataclass
        class Sky:
            data: jax.Array

        @jax.tree_util.register_dataclass
        class Polarised(Sky):
            pass
        """
    use = """
        import jax
        from shapes import Sky
        from typing import NamedTuple

        class Scan(NamedTuple):
            sky: Sky

        def doubled(scan: Scan):
            return jax.tree.map(lambda x: 2 * x, scan.sky)
        """
    assert _told(tmp_path, shapes, use) == []
    assert _told(tmp_path, shapes.replace("(Sky)", ""), use) == ["PT104"]


def _told(folder: Path, shapes: str, use: str) -> list[str]:
    (folder / "shapes.py").write_text(textwrap.dedent(shapes))
    (folder / "use.py").write_text(textwrap.dedent(use))
    report = audit_paths([str(folder / "use.py")])
    return [it.code for it in report.findings if it.family == "pytree"]


def test_what_is_asked_of_a_child_is_no_child():
    program = """
    @jax.tree_util.register_pytree_node_class
    class Strings:
        def __init__(self, space, weights=None, kind=None):
            weights = space.weights() if weights is None else weights
            self.space, self.weights = space, weights
            self.kind = weights.dtype

        def tree_flatten(self):
            return (self.weights,), {"space": self.space, "kind": self.kind}

        @classmethod
        def tree_unflatten(cls, static, children):
            made = cls(static["space"])
            made.weights = children[0]
            return made
    """
    assert found("PT101", program) == []


def test_the_default_of_a_field_is_not_what_every_object_has():
    program = """
    import dataclasses
    import settings

    class Reference:
        def __getattr__(self, name):
            return settings.lookup(name)

    REFERENCE = Reference()

    @dataclasses.dataclass(frozen=True, eq=True)
    class Step:
        model: object = REFERENCE.model
        rate: object = REFERENCE.rate

        @functools.partial(jax.jit, static_argnums=0)
        def step(self, state, batch):
            return state - self.rate * self.model.gradient(state, batch)

    @dataclasses.dataclass
    class Trainer:
        trainstep: Step = dataclasses.field(default_factory=Step)

    def train(trainer: Trainer, state, batches):
        step = trainer.trainstep
        state = step.step(state, batches[0])
        model, rate = step.model, step.rate
        for batch in batches:
            state = step.step(state, batch)
        return state, model, rate
    """
    assert found("JT103", program) == []
