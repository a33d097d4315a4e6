"""Training loops of libraries whose own forms of `jit` hide the user's function in theirs."""

import runpy
import sys
from pathlib import Path
from textwrap import dedent

import verax
from verax.audit.trace import places

EQUINOX = """
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import optax

    class Model(eqx.Module):
        layer: eqx.nn.Linear
        dropout: eqx.nn.Dropout

        def __init__(self, key):
            self.layer = eqx.nn.Linear(4, 1, key=key)
            self.dropout = eqx.nn.Dropout(0.5)

        def __call__(self, x, key):
            return self.dropout(self.layer(x), key=key)

    @eqx.filter_value_and_grad
    def loss(model, x, y, key):
        predicted = jax.vmap(lambda row: model(row, key))(x)
        return jnp.mean((predicted - y) ** 2)

    optimiser = optax.adam(1e-3)

    @eqx.filter_jit
    def step(model, state, x, y, key):
        value, gradient = loss(model, x, y, key)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(model, updates), state, value

    model = Model(jax.random.key(0))
    state = optimiser.init(eqx.filter(model, eqx.is_array))
    x = jax.random.normal(jax.random.key(1), (8, 4))
    for index in range(3):
        model, state, value = step(model, state, x, x.sum(1), jax.random.key(index))
        print(float(value))
"""

NNX = """
    import jax
    import jax.numpy as jnp
    import optax
    from flax import nnx

    class Model(nnx.Module):
        def __init__(self, rngs):
            self.inner = nnx.Linear(4, 8, rngs=rngs)
            self.norm = nnx.BatchNorm(8, rngs=rngs)
            self.outer = nnx.Linear(8, 1, rngs=rngs)

        def __call__(self, x):
            return self.outer(jax.nn.relu(self.norm(self.inner(x))))

    model = Model(nnx.Rngs(0))
    optimiser = nnx.Optimizer(model, optax.adam(1e-3), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimiser, x, y):
        def loss(model):
            return jnp.mean((model(x) - y) ** 2)
        value, gradient = nnx.value_and_grad(loss)(model)
        optimiser.update(model, gradient)
        return value

    x = jax.random.normal(jax.random.key(1), (8, 4))
    for index in range(3):
        print(float(step(model, optimiser, x, x.sum(1))))
    print(model.norm.mean[...].tolist())
"""

HAIKU = """
    import haiku as hk
    import jax
    import jax.numpy as jnp
    import optax

    def forward(x):
        return hk.Linear(1)(jax.nn.relu(hk.Linear(8)(x)))

    network = hk.without_apply_rng(hk.transform(forward))
    optimiser = optax.sgd(0.1)

    def loss(params, x, y):
        return jnp.mean((network.apply(params, x) - y) ** 2)

    @jax.jit
    def step(params, state, x, y):
        value, gradient = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimiser.update(gradient, state)
        return optax.apply_updates(params, updates), state, value

    x = jax.random.normal(jax.random.key(1), (8, 4))
    params = network.init(jax.random.key(0), x)
    state = optimiser.init(params)
    for index in range(3):
        params, state, value = step(params, state, x, x.sum(1))
        print(float(value))
"""


# A trainer as libraries have it: it jits a function of its own, which steps the user's environment.
TRAINER = """
    import jax
    import jax.numpy as jnp

    def train(environment, steps):
        @jax.jit
        def epoch(key):
            key, first = jax.random.split(key)
            state = environment.reset(first)
            for _ in range(steps):
                key, sub = jax.random.split(key)
                state = environment.step(state, jax.random.normal(sub, state.shape))
            return state, jax.random.normal(sub)
        return epoch(jax.random.key(0))
"""

PROGRAM = """
    import jax
    import trainer

    class Point:
        def reset(self, key):
            return jax.random.normal(key, (2,)) + jax.random.uniform(key, (2,))

        def step(self, state, action):
            return state + 0.1 * action

    trainer.train(Point(), 3)
"""


def expected(both, line_of_loss):
    """The loss of (8, 1) against (8,) is found, in the user's words, and nothing is in the way."""
    assert both.seen() == ["step"]
    assert both.report["failures"] == []
    found = [it for it in both.report["issues"] if it["code"] == "AX002"]
    assert [it["line"] for it in found] == [line_of_loss]
    words = " ".join(it["claim"] for it in both.report["verified"])
    assert "dynamic" not in words
    assert "pure_args" not in words


def test_equinox(run_both):
    both = run_both({"train.py": EQUINOX}, "train.py", options=["--preview"])
    expected(both, 21)
    (shared,) = [it for it in both.report["issues"] if it["code"] == "RK003"]
    assert "`key` is closed over" in shared["current"]


def test_flax_nnx(run_both):
    expected(run_both({"train.py": NNX}, "train.py", options=["--preview"]), 22)


def test_a_trainer_that_calls_the_program(tmp_path, monkeypatch):
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    (libraries / "trainer.py").write_text(dedent(TRAINER))
    (tmp_path / "program.py").write_text(dedent(PROGRAM))
    monkeypatch.setattr(places, "_LIBRARIES", (*places._LIBRARIES, f"{libraries}/"))
    monkeypatch.syspath_prepend(libraries)
    monkeypatch.delitem(sys.modules, "trainer", raising=False)
    with verax.observe() as seen:
        runpy.run_path(str(tmp_path / "program.py"))
    # The library draws by one key twice, too; but whoever reads this can only mend the program.
    found = {(it.code, Path(it.place.file).name, it.place.line) for it in seen.report.issues}
    assert found == {("RK001", "program.py", 7)}


def test_haiku(run_both):
    expected(run_both({"train.py": HAIKU}, "train.py", options=["--preview"]), 14)
