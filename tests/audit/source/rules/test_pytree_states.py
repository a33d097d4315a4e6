"""States that a call gives anew, and that are dropped or kept."""

import pytest

from .reading import found


@pytest.mark.parametrize(("state", "lines"), [("state", [13]), ("new_state", [])])
def test_the_old_state_is_returned_beside_a_new_one_with_a_name(state: str, lines: list[int]):
    program = f"""
    import flax.linen as nn

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x):
            return nn.BatchNorm(use_running_average=False)(x)

    def step(params, state, x):
        out, new_state = Net().apply({{"params": params, **state}}, x, mutable=list(state))
        loss = out.mean()

        params = jax.tree.map(lambda it: 0.9 * it, params)
        return params, {state}, loss
    """
    assert found("PT105", program) == lines


@pytest.mark.parametrize(("state", "lines"), [("state", [7]), ("new_state", [])])
def test_the_old_state_is_returned_beside_that_of_a_loss(state: str, lines: list[int]):
    program = f"""
    def loss(params, state, x):
        new_state = 0.9 * state + 0.1 * x
        return jnp.sum(params * x), new_state

    def step(params, state, x):
        grads, new_state = jax.grad(loss, has_aux=True)(params, state, x)
        return params - grads, {state}
    """
    assert found("PT105", program) == lines


@pytest.mark.parametrize(("name", "lines"), [("_", [9]), ("stats", [])])
def test_statistics_that_a_loss_has_renewed_are_dropped(name: str, lines: list[int]):
    program = f"""
    def loss(params, stats, x, model):
        variables = {{"params": params, "batch_stats": stats}}
        out, new = model.apply(variables, x, mutable=["batch_stats"])
        return out.mean(), new["batch_stats"]

    def fit(model, params, stats, x):
        grad_fn = jax.value_and_grad(loss, has_aux=True)
        for _ in range(3):
            (value, {name}), grads = grad_fn(params, stats, x, model)
            params = jax.tree.map(lambda p, g: p - g, params, grads)
        return params, stats
    """
    assert found("PT105", program) == lines


def test_a_new_state_is_dropped():
    program = """
    import flax.linen as nn

    def update(stats, x):
        mean = 0.9 * stats["mean"] + x.mean(0)
        return x - mean, {"mean": mean}

    def train(model: nn.Module, variables, x):
        stats = {"mean": jnp.zeros(3)}
        y, _ = update(stats, x)
        z, _unused = update(stats, y)
        out, _ = model.apply(variables, x, train=True, mutable=["batch_stats"])
        return y, z, out

    def evaluate(model, variables, x):
        stats = {"mean": jnp.zeros(3)}
        y, _ = update(stats, x)
        y, _ = model.apply(variables, x, train=False, mutable=["batch_stats"])
        _, state = model.apply(variables, x, mutable=["intermediates"])
        out, _ = model.apply(variables, x, mutable=["intermediates"])
        y, stats = update({"mean": y}, x)
        return y, state, out, stats

    def optimise(optimiser, params, state, grads):
        updates, _ = optimiser.update(grads, state, params)
        return params + updates, state

    def loss(model, params, stats, x):
        out, unused = model.apply({"params": params, **stats}, x, mutable=["batch_stats"])
        return out.sum()

    def once(optimiser, params, grads):
        state = optimiser.init(params)
        updates, _ = optimiser.update(grads, state)
        return params + updates

    class Net(nn.Module):
        train: bool = True

        def __call__(self, x):
            return nn.BatchNorm(use_running_average=not self.train)(x)

    def predict(variables, x):
        out, _ = Net().apply(variables, x, mutable=["batch_stats"])
        return out

    def asked(variables, x):
        out, _ = Net(train=False).apply(variables, x, mutable=["batch_stats"])
        return out

    def learns(variables, x):
        out, _ = Net(train=True).apply(variables, x, mutable=["batch_stats"])
        return out
    """
    assert found("PT105", program) == [9, 11, 24, 28, 51]


def test_collections_that_a_loss_returns_are_dropped_outside_of_it():
    program = """
    def train(state, images):
        def loss(params):
            variables = {"params": params, "batch_stats": state.batch_stats}
            out, changed = state.apply_fn(variables, images, mutable=["batch_stats"])
            return (out ** 2).mean(), changed

        (value, changed), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads), value

    def kept(state, images):
        def loss(params):
            variables = {"params": params, "batch_stats": state.batch_stats}
            out, changed = state.apply_fn(variables, images, mutable=["batch_stats"])
            return (out ** 2).mean(), (out, changed)

        (value, (out, changed)), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
        return state.apply_gradients(grads=grads, batch_stats=changed["batch_stats"]), value
    """
    assert found("PT105", program) == [7]


def test_the_new_state_of_a_training_pass_is_dropped():
    program = """
    def loss_fn(params, state, x):
        y, new_state = model(params, state, x)
        return jnp.mean(y**2), new_state

    def train(params, state, x):
        grad_fn = jax.value_and_grad(loss_fn, has_aux=True)
        (loss, _), grads = grad_fn(params, state, x)
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        return params, state, loss
    """
    assert found("PT105", program) == [7]
    kept = program.replace("(loss, _)", "(loss, state)")
    assert found("PT105", kept) == []
    of_metrics = program.replace("new_state", "metrics")
    assert found("PT105", of_metrics) == []
