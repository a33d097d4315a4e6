"""What a compiled function closes over: state that changes later, and large arrays."""

import pytest

from .reading import found


def test_a_global_that_a_loop_changes_is_read_by_a_jitted_function():
    program = """
    def run(w, xs):
        rate = 0.1
        config = {"decay": 0.0}

        def decayed(w):
            return w * (1.0 - config["decay"])

        @jax.jit
        def step(w, x):
            return decayed(w) - rate * x

        for x in xs:
            w = step(w, x)
            rate = rate * 0.99
        config["decay"] = 0.1
        return step(w, xs[0])
    """
    assert found("JT103", program) == [6, 10]


def test_an_attribute_that_another_method_sets():
    program = """
    class Policy:
        def __init__(self, params):
            self.params = params
            self.temperature = 1.0
            self.act = jax.jit(self._act)

        def _act(self, obs):
            return obs @ self.params / self.temperature

        def load(self, params):
            self.params = params

        def train(self, batches):
            for batch in batches:
                self.params = self.params - self.act(batch)

    @functools.partial(jax.jit, static_argnums=0)
    def evaluate(policy, obs):
        return obs @ policy.params
    """
    assert found("JT103", program) == [8]


def test_what_does_not_change_may_be_closed_over():
    program = """
    RATE = 0.1

    class Policy:
        def __init__(self, size):
            self.size = size
            self.build()

        def build(self):
            self.table = jnp.zeros(self.size)

        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, x):
            return x + self.table * RATE

        def reset(self):
            self.count = 0

    def make(rate):
        @jax.jit
        def step(w):
            return w - rate * w
        return step

    def main(w, policy):
        for rate in (0.1, 0.2):
            step = make(rate)
            w = step(w)
        local = 1.0

        @jax.jit
        def f(x):
            return x * local

        w = f(f(w))
        return policy(w), policy(w)
    """
    assert found("JT103", program) == []


def test_large_arrays_are_constants_of_the_program():
    program = """
    class Lookup:
        def __init__(self):
            self.table = np.zeros((4096, 128), np.float32)
            self.small = np.zeros(16)

        @functools.partial(jax.jit, static_argnums=0)
        def __call__(self, ids):
            return self.table[ids] * self.small[0]

    def main(ids, table):
        lookup = Lookup()
        inner = jax.jit(lambda t, i: t[i])
        return lookup(ids), inner(table, ids)
    """
    assert found("JT301", program) == [8]


def test_an_array_of_numpy_is_written_to_after_it_was_read():
    program = """
    def run(x, n):
        weights = np.ones(3)
        bias = np.zeros(3)

        @jax.jit
        def score(x):
            return x * weights + bias

        for i in range(n):
            x = score(x)
            weights[i] = 0.0
        return x
    """
    assert found("JT103", program) == [7]


def test_a_method_that_a_loop_calls_writes_into_an_array_that_was_read():
    program = """
    class Pruner:
        def __init__(self):
            self.mask = np.ones(3)

        def apply(self, w):
            return w * self.mask

        def prune(self, w):
            self.mask[np.asarray(w) < 0.1] = 0.0

    def make(pruner):
        @jax.jit
        def step(w, x):
            return pruner.apply(w) - x
        return step

    def train(w, xs):
        pruner = Pruner()
        step = make(pruner)
        for x in xs:
            w = step(w, x)
            pruner.prune(w)
        return w
    """
    assert found("JT103", program) == [6]


def test_a_function_that_is_made_after_each_write_reads_what_is_there():
    program = """
    class Pruner:
        def __init__(self):
            self.mask = np.ones(3)

        def apply(self, w):
            return w * self.mask

        def prune(self, w):
            self.mask[np.asarray(w) < 0.1] = 0.0

    def train(w, xs):
        pruner = Pruner()
        for x in xs:
            step = jax.jit(lambda w, x: pruner.apply(w) - x)
            w = step(w, x)
            pruner.prune(w)
        return w
    """
    assert found("JT103", program) == []


def test_an_attribute_of_an_object_that_the_function_reaches_through_another_one():
    program = """
    import dataclasses

    @dataclasses.dataclass
    class Plateau:
        lr: float = 0.1

        def observe(self, loss):
            if loss > 1.0:
                self.lr *= 0.5

    class Trainer:
        def __init__(self):
            self.plateau = Plateau()

        def make(self):
            return jax.jit(lambda w, x: w - self.plateau.lr * x)

        def fit(self, w, xs):
            step = self.make()
            for x in xs:
                w = step(w, x)
                self.plateau.observe(float(w.sum()))
            return w
    """
    assert found("JT103", program) == [16]


def test_an_entry_of_a_dict_that_a_loop_sets():
    program = """
    def train(w, xs):
        settings = {"lr": 0.1, "seen": 0}

        @jax.jit
        def step(w, x):
            return w - settings["lr"] * x

        for x in xs:
            w = step(w, x)
            settings["seen"] += 1
            settings["lr"] = 0.5 * settings["lr"]
        return w
    """
    assert found("JT103", program) == [6]


def test_what_changes_beside_what_is_read():
    program = """
    class Counter:
        def __init__(self):
            self.lr, self.seen = 0.1, 0

    def train(w, xs):
        counter = Counter()
        step = jax.jit(lambda w, x: w - counter.lr * x)
        for x in xs:
            w = step(w, x)
            counter.seen += 1
        return w
    """
    assert found("JT103", program) == []


def test_what_tracing_left_behind_is_no_old_value():
    program = """
    class Model:
        def value(self):
            return self.scale * 2

        def set(self, scale):
            self.scale = scale

    model = Model()

    @jax.jit
    def scaled(scale):
        model.set(scale)
        return model.value()

    a = scaled(1.0)
    b = scaled(2.0)
    c = jax.grad(scaled)(3.0)
    """
    assert found("JT103", program) == []


def test_a_method_that_fills_in_new_objects_changes_none_in_use():
    program = """
    class Variable:
        def __init__(self, name):
            self.name = name
            self._stack = []

        @functools.partial(jax.jit, static_argnums=0)
        def density(self, x):
            return x if len(self._stack) == 0 else x * len(self._stack)

        def _fill(self, *parts):
            self._stack = list(parts)

        def __add__(self, other):
            new = Variable("sum")
            new._fill(self, other)
            return new

        def __neg__(self):
            new = Variable("minus")
            new._fill(self)
            return new

    def sample(x):
        variable = Variable("one")
        return variable.density(x)
    """
    assert found("JT103", program) == []
    late = program.replace('new = Variable("minus")', "new = self")
    assert found("JT103", late) == [8]


def test_a_global_that_a_loop_moves_on_between_calls():
    program = """
    STEP, EPOCH, SCALE = 0, 0, 1.0

    def rate():
        return 0.1 / (1 + STEP) * SCALE

    @jax.jit
    def update(x):
        return x - rate()

    @jax.jit
    def given(x, epoch):
        return x - 0.1 / (1 + epoch)

    def train(x, n):
        global STEP, EPOCH
        for _ in range(n):
            x = given(update(x), EPOCH)
            STEP += 1
            EPOCH += 1
        return x

    def setup(scale):
        global SCALE
        SCALE = scale
    """
    assert found("JT103", program) == [4]


def test_what_traced_code_sets_before_it_reads_it_is_its_own():
    program = """
    class Energy:
        def __init__(self, border):
            self.border, self.fixed = border, 1.0

        def update_border(self, t):
            self.border = jnp.sin(t)

        def loosen(self, fixed):
            self.fixed = fixed

        @functools.partial(jax.jit, static_argnums=0)
        def update(self, x, t):
            self.update_border(t)
            return x + self.border

        @functools.partial(jax.jit, static_argnums=0)
        def scaled(self, x):
            return x * self.fixed

    def run(x, times):
        energy = Energy(x)
        for t in times:
            x = energy.scaled(energy.update(x, t))
        return x
    """
    assert found("JT103", program) == [18]


def test_a_large_array_is_bound_before_the_function_is_jitted():
    program = """
    BANK = jnp.ones((4096, 128))

    def score(bank, query):
        return bank @ query

    lookup = jax.jit(functools.partial(score, BANK))

    def run(query):
        return lookup(query)
    """
    assert found("JT301", program) == [6]
    bound = "jax.jit(functools.partial(score, BANK))"
    mapped = program.replace(bound, "jax.jit(jax.vmap(partial(score, BANK)))")
    assert found("JT301", mapped) == [6]
    apart = program.replace(bound, "partial(jax.jit(score), BANK)")
    assert found("JT301", apart) == []
    small = program.replace("4096", "16")
    assert found("JT301", small) == []


def test_a_large_array_in_a_record_that_a_jitted_function_closes_over():
    program = """
    class Fit(NamedTuple):
        points: jax.Array
        inverse: jax.Array

    def fit(x):
        gram = jnp.exp(-((x[:, None] - x[None, :]) ** 2))
        return Fit(x, jnp.linalg.inv(gram))

    def make(state):
        @jax.jit
        def predict(query):
            cross = query[:, None] - state.points
            return cross @ state.inverse

        return predict

    PREDICT = make(fit(jnp.linspace(0.0, 1.0, 800)))

    def run(query):
        return PREDICT(query)
    """
    assert found("JT301", program) == [13]
    assert found("JT301", program.replace("800", "80")) == []
    assert found("JT301", program.replace("state.inverse", "query")) == []


def test_a_large_array_behind_a_gradient_that_is_jitted():
    program = """
    DATA = {"x": np.ones((4096, 128), np.float32)}

    def loss(w, i):
        row = jnp.asarray(DATA["x"])[i]
        return jnp.sum((row * w) ** 2)

    gradient = jax.jit(jax.grad(loss))

    def run(w):
        return gradient(w, 3)
    """
    assert found("JT301", program) == [4]
    assert found("JT301", program.replace("4096", "16")) == []


def test_a_large_array_in_a_record_that_a_jitted_method_takes_from_its_object():
    program = """
    from typing import NamedTuple

    class Tables(NamedTuple):
        basis: jax.Array
        offset: jax.Array

    class Model:
        def __init__(self, tables):
            self.tables = tables
            self.apply = jax.jit(self._apply)

        def _apply(self, x):
            tables = self.tables
            return x @ tables.basis + tables.offset

    model = Model(Tables(jnp.ones((1024, 512)), jnp.zeros(512)))
    out = model.apply(jnp.ones(1024))
    """
    assert found("JT301", program) == [13]
    assert found("JT301", program.replace("(1024, 512)", "(64, 512)")) == []
    # What nobody reads of it is in no program.
    assert found("JT301", program.replace("x @ tables.basis + ", "")) == []


@pytest.mark.parametrize(
    "jitted",
    [
        "jax.jit(partial(self._apply, scale=2.0))",
        "jax.jit(jax.vmap(partial(self._apply, scale=2.0)))",
        "jax.jit(partial(Bank._apply, self, scale=2.0))",
    ],
)
def test_a_large_array_of_an_object_behind_what_is_put_around_its_method(jitted: str):
    program = f"""
    class Bank:
        def __init__(self, rows):
            self.rows = rows
            self.apply = {jitted}

        def _apply(self, x, scale):
            return scale * self.rows @ x

    bank = Bank(jnp.ones((4096, 128)))
    out = bank.apply(jnp.ones((8, 128) if {"vmap" in jitted} else 128))
    """
    assert found("JT301", program) == [7]
    assert found("JT301", program.replace("4096", "16")) == []


@pytest.mark.parametrize(
    ("turn", "is_stale"),
    [
        ("x = bank.apply(x); bank.gain *= 0.5", True),
        ("x = bank.apply(x); cooled(bank)", True),
        ("x = applied(bank, x); cooled(bank)", True),
        ("cooled(bank); x = applied(bank, x)", True),
        ("restored(bank); x = applied(bank, x)", False),
        ("bank = Bank(); cooled(bank); x = applied(bank, x)", False),
    ],
)
def test_a_loop_calls_and_changes_in_functions_of_their_own(turn: str, is_stale: bool):
    program = f"""
    class Bank:
        def __init__(self):
            self.gain = 1.0
            self._apply = jax.jit(self._scaled)

        def _scaled(self, x):
            return self.gain * x

        def apply(self, x):
            return self._apply(x)

    def applied(bank, x):
        return bank.apply(x)

    def cooled(bank):
        bank.gain = max(0.1, 0.5 * bank.gain)

    def restored(bank):
        bank.gain = 1.0

    def entry(x):
        bank = Bank()
        for _ in range(3):
            {turn}
        return x
    """
    assert found("JT103", program) == ([7] if is_stale else [])


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("class Net:\n    rows = ROWS\nread = jax.jit(lambda ids: Net.rows[ids])", 4),
        (
            "class Net:\n    rows = ROWS\n    @partial(jax.jit, static_argnums=0)\n"
            "    def read(self, ids):\n        return self.rows[ids]\nNet().read(jnp.arange(3))",
            6,
        ),
        (
            "class Net:\n    def __init__(self): self._rows = ROWS\n    @property\n"
            "    def rows(self):\n        return self._rows\n    def read(self, ids):\n"
            "        return self.rows[ids]\nnet = Net()\njax.jit(net.read)(jnp.arange(3))",
            6,
        ),
        ("@jax.jit\ndef read(ids, rows=ROWS):\n    return rows[ids]\nread(jnp.arange(3))", 3),
        (
            "@jax.jit\ndef read(ids, rows=jnp.ones((4096, 128))):\n    return rows[ids]\n"
            "read(jnp.arange(3))",
            3,
        ),
        (
            "class Net:\n    def __init__(self): self.rows = ROWS\n    def __call__(self, ids):\n"
            "        return self.rows[ids]\nNET = Net()\njax.jit(lambda i: NET(i))(jnp.arange(3))",
            5,
        ),
        (
            "class Net:\n    def __init__(self): self.rows = ROWS\n    def __call__(self, ids):\n"
            "        return self.rows[ids]\njax.jit(Net())(jnp.arange(3))",
            5,
        ),
        (
            "class Data(NamedTuple):\n    x: jax.Array\n    y: jax.Array\n"
            "DATA = Data(*(2.0 * it for it in (ROWS, jnp.ones(3))))\n"
            "jax.jit(lambda i: DATA.x[i])(jnp.arange(3))",
            6,
        ),
        ("@jax.jit\ndef read(ids, rows):\n    return rows[ids]\nread(jnp.arange(3), ROWS)", None),
    ],
)
def test_a_large_array_of_a_class_or_a_default(program: str, line: int | None):
    table = "ROWS = jnp.ones((4096, 128))\n"
    assert found("JT301", table + program) == ([] if line is None else [line])
    assert found("JT301", (table + program).replace("4096", "16")) == []


def test_a_default_that_is_given_is_an_argument():
    program = """
    @jax.jit
    def read(ids, rows=jnp.ones((4096, 128))):
        return rows[ids]

    def entry(ids, rows):
        return read(ids, rows) + read(ids, rows=rows)
    """
    assert found("JT301", program) == []
