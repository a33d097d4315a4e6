"""Tracers in containers, texts and modules, where Python wants to know them."""

from .reading import found


def test_functions_that_a_dict_of_jitted_ones_holds():
    program = """
    def train(x, limit):
        return x * min(1.0, limit / x.sum())

    def evaluate(x, limit):
        return x.mean() - limit

    def build():
        return {name: jax.jit(f) for name, f in {"train": train, "eval": evaluate}.items()}

    def entry(x):
        run = build()
        return run["train"](x, 1.0), run["eval"](x, 1.0)

    def inputs():
        return (jnp.ones(3),)
    """
    assert found("JT201", program) == [2]


def test_elements_of_sets_and_keys_have_a_hash():
    program = """
    @jax.jit
    def f(values):
        xs = jnp.sort(values)
        some = {x for x in xs}
        pair = {xs[0], 1}
        all_of_them = set(xs)
        table = {x: i for i, x in enumerate(xs)}
        fine = {n for n in xs.shape}, {i: x for i, x in enumerate(xs)}
        return some, pair, all_of_them, table, fine
    """
    assert found("JT205", program) == [4, 5, 6, 7]


def test_a_text_for_a_later_print_is_made_too_early():
    program = """
    @jax.jit
    def f(x, n=3):
        jax.debug.print(f"norm {jnp.linalg.norm(x)}")
        jax.debug.print("norm {x} of " + str(n), x=jnp.linalg.norm(x))
        jax.debug.print(f"{n} entries: {{x}}", x=x)
        return x
    """
    assert found("JT102", program) == [3]


def test_nothing_waits_for_a_tracer():
    program = """
    @jax.jit
    def f(x):
        y = (2 * x).block_until_ready()
        return jax.block_until_ready(y)

    def g(x):
        return f(x).block_until_ready()
    """
    assert found("JT202", program) == [3]


def test_operators_get_trees():
    program = """
    from typing import NamedTuple

    class State(NamedTuple):
        position: jax.Array
        velocity: jax.Array

    def loss(params, x):
        return jnp.mean((x @ params["w"] + params["b"]) ** 2)

    def descend(params, grads, rate):
        return params - rate * grads

    def field(state):
        return State(state.velocity, -state.position)

    @jax.jit
    def step(state, x, dt):
        params = {"w": jnp.ones(3), "b": jnp.zeros(())}
        moved = state + dt * field(state)
        return descend(params, jax.grad(loss)(params, x), 0.1), moved

    def sizes(shape, count):
        return [0] * count, shape[:-1] + (3,), {"a"} - {"b"}

    step(State(jnp.ones(3), jnp.ones(3)), jnp.ones((4, 3)), 0.1)
    """
    assert found("JT204", program) == [11, 19]


def test_operators_get_functions_of_a_model():
    program = """
    import equinox as eqx

    class Net(eqx.Module):
        weight: jax.Array
        activation: object

        def __init__(self, key):
            self.weight = jax.random.normal(key, (3, 3))
            self.activation = jax.nn.silu

    def average(old, new, decay=0.99):
        return jax.tree.map(lambda a, b: decay * a + (1 - decay) * b, old, new)

    def main(key):
        return average(Net(key), Net(key))
    """
    assert found("JT204", program) == [12]
    arrays = program.replace(
        "return average(Net(key), Net(key))",
        "return average(eqx.filter(Net(key), eqx.is_array), eqx.filter(Net(key), eqx.is_array))",
    )
    assert found("JT204", arrays) == []
    own = arrays.replace("eqx.is_array", "lambda x: hasattr(x, 'shape')")
    assert found("JT204", own) == []


def test_an_optimiser_gets_the_functions_of_a_model():
    program = """
    import equinox as eqx
    import optax

    class Net(eqx.Module):
        weight: jax.Array
        activation: object

        def __init__(self, key):
            self.weight = jax.random.normal(key, (3, 3))
            self.activation = jax.nn.gelu

    def start(key):
        optimizer = optax.adam(1e-3)
        return optimizer.init(Net(key))
    """
    assert found("JT204", program) == [14]
    arrays = program.replace("init(Net(key))", "init(eqx.filter(Net(key), eqx.is_array))")
    assert found("JT204", arrays) == []
    plain = program.replace("optax.adam", "optax.sgd")
    assert found("JT204", plain) == []


def test_a_dict_is_summed_by_its_keys():
    program = """
    def norm(params):
        squares = jax.tree.map(lambda leaf: jnp.sum(leaf**2), params)
        return sum(squares)

    def main(x):
        return norm({"w": x, "b": x})
    """
    assert found("JT204", program) == [3]
    assert found("JT204", program.replace("sum(squares)", "sum(squares.values())")) == []


def test_a_list_for_a_function_outside_of_jax_numpy():
    program = """
    def mix(logits):
        shares = jax.nn.softmax([jnp.sum(it) for it in logits])
        return shares * jnp.linalg.norm((shares[0], shares[1]))

    def total(logits):
        return jax.nn.logsumexp(jnp.stack([jnp.sum(it) for it in logits]))
    """
    assert found("JT204", program) == [2, 3]


def test_a_function_in_the_carry_of_a_loop():
    program = """
    import equinox as eqx
    from collections.abc import Callable

    class Cell(eqx.Module):
        w: jax.Array
        act: Callable

        def __call__(self, x):
            return self.act(self.w @ x)

    def roll(w, xs):
        def step(cell, x):
            return cell, cell(x)

        return lax.scan(step, Cell(w, jnp.tanh), xs)[1]

    def roll_arrays(w, xs):
        arrays, rest = eqx.partition(Cell(w, jnp.tanh), eqx.is_array)
        return lax.scan(lambda a, x: (a, eqx.combine(a, rest)(x)), arrays, xs)[1]
    """
    assert found("JT204", program) == [15]


def test_a_filtered_gradient_is_none_for_a_function():
    program = """
    import equinox as eqx
    from collections.abc import Callable

    class Cell(eqx.Module):
        w: jax.Array
        act: Callable

    def loss(cell, x):
        return jnp.sum(cell.act(cell.w @ x))

    def train(cell_w, x):
        cell = Cell(cell_w, jnp.tanh)
        value, grads = eqx.filter_value_and_grad(loss)(cell, x)
        steps = jax.tree.map(lambda g: -0.1 * g, grads)
        moved = jax.tree.map(lambda p, g: p - 0.1 * g, cell, grads)
        return eqx.apply_updates(cell, steps), moved
    """
    assert found("JT204", program) == [15]


def test_an_optimiser_of_several_keeps_moments_of_functions():
    program = """
    import optax

    def start(w):
        tree = {"act": jnp.tanh, "w": w}
        rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-3))
        plain = optax.chain(optax.clip(1.0), optax.sgd(1e-3))
        first = plain.init(tree)
        second = rule.init(tree)
        return first, second, rule.init({"w": w})
    """
    assert found("JT204", program) == [8]


def test_a_function_among_what_is_mapped_over():
    program = """
    import equinox as eqx
    from collections.abc import Callable

    class Cell(eqx.Module):
        w: jax.Array
        act: Callable

    def apply(cell, x):
        return cell.act(cell.w @ x)

    def each(ws, x):
        cells = Cell(ws, jnp.tanh)
        bad = jax.vmap(apply, in_axes=(0, None))(cells, x)
        good = eqx.filter_vmap(apply, in_axes=(eqx.if_array(0), None))(cells, x)
        same = jax.vmap(apply, in_axes=(None, 0))(cells, x)
        return bad, good, same
    """
    assert found("JT204", program) == [13]


def test_arrays_that_a_generator_gives():
    program = """
    @jax.jit
    def penalty(params, rates):
        return jnp.sum(rate * jnp.sum(params[name] ** 2) for name, rate in rates.items())

    @jax.jit
    def right(params, rates):
        return sum(jnp.sum(params[name] ** 2) for name in rates), jnp.stack([x for x in params])
    """
    assert found("JT204", program) == [3]
