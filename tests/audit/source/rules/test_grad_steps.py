"""What is done with gradients: added up, stepped along, returned by rules, learned from."""

import pytest

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "gradients of a loop of Python's, of which only the loss is averaged": """
        class Trainer:
            def __init__(self, tx, loss):
                self.tx, self.loss = tx, loss

            def step(self, params, state, parts, rest):
                total, grads = jax.value_and_grad(self.loss)(params, rest)
                for part in parts:
                    value, update = jax.value_and_grad(self.loss)(params, part)
                    total = total + value
                    grads = jax.tree.map(jnp.add, grads, update)
                mean = total / (len(parts) + 1)  # GR206
                updates, state = self.tx.update(grads, state, params)
                return optax.apply_updates(params, updates), state, mean
        """,
    "a rule that forgets the cotangent": """
        @jax.custom_vjp
        def clash(x, y):
            return jnp.sum(jnp.maximum(x - y, 0.0) ** 2)

        def forward(x, y):
            gap = jnp.maximum(x - y, 0.0)
            return jnp.sum(gap**2), gap

        def backward(gap, g):
            slope = 2.0 * gap
            return slope, -slope  # GR020

        clash.defvjp(forward, backward)

        def force(x, y):
            return jax.grad(lambda x: 3.0 * clash(x, y))(x)
        """,
    "a tangent with a part that no tangent multiplies": """
        @jax.custom_jvp
        def scaled(x, width):
            return jnp.tanh(x / width)

        @scaled.defjvp
        def scaled_jvp(primals, tangents):
            (x, width), (dx, dwidth) = primals, tangents
            y = scaled(x, width)
            slope = 1 - y**2
            change = slope / width * dx - slope * x / width**2  # GR020
            return y, change

        def value(x, width):
            return scaled(x, width)
        """,
    "a divergence both sides of which are stopped": """
        def divergence(p, q):
            return jnp.sum(jnp.exp(p) * (p - q), axis=-1)

        def loss(params, x):
            post = jax.nn.log_softmax(x @ params["post"])
            prior = jax.nn.log_softmax(x @ params["prior"])
            forward = divergence(stop_gradient(post), stop_gradient(prior))  # GR011
            return jnp.mean(0.5 * forward + 0.1 * divergence(post, stop_gradient(prior)))

        def update(params, x):
            return jax.value_and_grad(loss)(params, x)
        """,
}

RIGHT = {
    "a rule whose results something else fills in": """
        import ctypes
        import numpy

        library = numpy.ctypeslib.load_library("libfast", ".")

        @jax.custom_vjp
        def product(x, w):
            return jnp.dot(x, w)

        def forward(x, w):
            return product(x, w), (x, w)

        def backward(kept, g):
            x, w = kept
            out = numpy.zeros_like(x, order="C") if x.ndim > 1 else numpy.zeros_like(x, order="F")
            library.fill(out.ctypes.data_as(ctypes.c_void_p), g.ctypes.data_as(ctypes.c_void_p))
            return out.reshape(x.shape), out.reshape(w.shape)

        product.defvjp(forward, backward)

        def slope(x, w):
            return jax.grad(product)(x, w)
        """,
    "gradients that are divided, or of a sum": """
        def mean_step(loss, tx, params, state, parts):
            def add(carry, part):
                total, grads = carry
                value, update = jax.value_and_grad(loss)(params, part)
                return (total + value, jax.tree.map(jnp.add, grads, update)), None

            zeros = jax.tree.map(jnp.zeros_like, params)
            (total, grads), _ = lax.scan(add, (0.0, zeros), parts)
            grads = jax.tree.map(lambda g: g / parts.shape[0], grads)
            updates, state = tx.update(grads, state, params)
            return optax.apply_updates(params, updates), state, total / parts.shape[0]

        def epoch(loss, tx, params, state, parts):
            total = 0.0
            for part in parts:
                value, grads = jax.value_and_grad(loss)(params, part)
                updates, state = tx.update(grads, state, params)
                params = optax.apply_updates(params, updates)
                total = total + value
            return params, state, total / len(parts)
        """,
    "rules that are linear, return zeros, or add a gradient of their own": """
        @jax.custom_vjp
        def with_penalty(x, penalty):
            return x

        def forward(x, penalty):
            return x, penalty

        def backward(penalty, g):
            return g, jnp.ones_like(penalty) * penalty

        with_penalty.defvjp(forward, backward)

        @jax.custom_vjp
        def looked_up(table, index):
            return table[index]

        def looked_up_fwd(table, index):
            return table[index], (table, index)

        def looked_up_bwd(residuals, g):
            table, index = residuals
            return jnp.zeros_like(table).at[index].add(g) + 0.1 * g.sum(), None

        looked_up.defvjp(looked_up_fwd, looked_up_bwd)

        @jax.custom_vjp
        def watched(x, history):
            return x

        def watched_fwd(x, history):
            return x, jnp.roll(history, 1)

        def watched_bwd(history, _):
            return None, history

        watched.defvjp(watched_fwd, watched_bwd)

        def loss(table, index, penalty):
            rows = with_penalty(looked_up(table, index), penalty)
            return rows.sum() + watched(penalty, penalty).sum()
        """,
    "a divergence of which each term stops one side": """
        def divergence(p, q):
            return jnp.sum(jnp.exp(p) * (p - q), axis=-1)

        def loss(params, x):
            post = jax.nn.log_softmax(x @ params["post"])
            prior = jax.nn.log_softmax(x @ params["prior"])
            forward = divergence(stop_gradient(post), prior)
            return jnp.mean(0.5 * forward + 0.1 * divergence(post, stop_gradient(prior)))

        def update(params, x):
            return jax.value_and_grad(loss)(params, x)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")


MOMENTUM = """
def loss(params, x, y):
    return jnp.mean((jnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2)

def train(params, x, y):
    def step(carry, _):
        params, speed = carry
        grads = jax.grad(loss)(params, x, y)
        speed = jax.tree.map(lambda s, g: 0.9 * s + g, speed, grads)
        params = jax.tree.map(lambda p, s: p + 0.1 * s, params, speed)
        return (params, speed), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    return lax.scan(step, (params, zeros), None, length=5)[0]

def entry(params, x, y):
    return train(params, x, y)

def inputs():
    return {"w": jnp.ones((3, 2)), "v": jnp.ones(2)}, jnp.ones((4, 3)), jnp.ones(4)
"""


def test_a_step_by_hand_that_goes_up():
    assert found("DF113", MOMENTUM) == [9]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("p + 0.1 * s", "p - 0.1 * s"),
        ("p + 0.1 * s", "p + -0.1 * s"),
        ("0.9 * s + g,", "0.9 * s - g,"),
        ("return jnp.mean((", "return -jnp.mean(("),
        ("return jnp.mean((", "return jnp.sum(params['v']) - jnp.mean(("),
    ],
)
def test_a_step_that_goes_down_or_makes_a_score_larger(before: str, after: str):
    assert before in MOMENTUM
    assert found("DF113", MOMENTUM.replace(before, after)) == []


def test_a_step_up_that_is_only_tried_out():
    program = """
    def loss(params, x):
        return jnp.mean((x @ params["w"] + params["b"]) ** 2)

    def entry(params, x):
        grads = jax.grad(loss)(params, x)
        worst = jax.tree.map(lambda p, g: p + 0.05 * g, params, grads)
        grads = jax.grad(loss)(worst, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)

    def inputs():
        return {"w": jnp.ones(3), "b": jnp.ones(())}, jnp.ones((4, 3))
    """
    assert found("DF113", program) == []


ADAPTED = """
class Meta(NamedTuple):
    params: dict
    rate: jax.Array

def error(params, x):
    return jnp.mean((x @ params["w"]) ** 2)

def adapt(meta, x):
    def step(params, _):
        value, grads = jax.value_and_grad(error)(params, x)
        return jax.tree.map(lambda p, g: p - meta.rate * g, params, grads), value

    return lax.scan(step, meta.params, None, length=3)

def outer(meta, support, query):
    adapted, losses = adapt(meta, support)
    return error(meta.params, query), losses

def entry(meta, support, query):
    return jax.grad(outer, has_aux=True)(meta, support, query)

def inputs():
    return Meta({"w": jnp.ones(3)}, jnp.ones(())), jnp.ones((4, 3)), jnp.ones((4, 3))
"""


def test_what_was_learned_and_nothing_reads():
    assert found("DF101", ADAPTED) == [17]
    assert found("DF101", ADAPTED.replace("error(meta.params", "error(adapted")) == []
    assert found("DF101", ADAPTED.replace("adapted,", "_,")) == []


@pytest.mark.parametrize(
    ("factor", "is_found"),
    [
        ("rate(n)", False),  # It may be negative.
        ("jnp.array([-0.1, -0.01])[n]", False),
        ("jnp.where(n < 2, -0.1, -0.01)", False),
        ("-0.1 * 0.9**n", False),
        ("0.1 * 0.9**n", True),
        ("jnp.exp(-n)", True),
    ],
)
def test_a_step_up_by_a_factor_of_which_the_sign_is_known(factor: str, is_found: bool):
    program = MOMENTUM.replace("p + 0.1 * s", f"p + {factor} * s")
    program = program.replace("def step(carry, _)", "def step(carry, n)")
    program = program.replace("None, length=5", "jnp.arange(5)")
    rate = "import optax\nrate = optax.exponential_decay(-0.1, 10, 0.9)\n"
    assert found("DF113", rate + program) == ([12] if is_found else [])


CHAIN = """
import optax

def entry(params, x, y, rate):
    schedule = optax.cosine_decay_schedule(1e-3, 100)
    tx = optax.chain(optax.scale_by_adam(), optax.scale_by_schedule(schedule))

    def loss(params):
        return jnp.mean((x @ params - y) ** 2)

    grads = jax.grad(loss)(params)
    updates, _ = tx.update(grads, tx.init(params))
    return optax.apply_updates(params, updates)
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cosine_decay_schedule(1e-3, 100)", "exponential_decay(1e-3, 10, 0.9)"),
        ("cosine_decay_schedule(1e-3, 100)", "linear_schedule(rate, end_value=0.0)"),
        (
            "cosine_decay_schedule(1e-3, 100)",
            "join_schedules([optax.linear_schedule(0.0, 1e-3, 10), optax.constant_schedule(1e-3)])",
        ),
        (
            "return jnp.mean((x @ params - y) ** 2)",
            "return -jnp.mean(jax.nn.log_sigmoid(x @ params))",
        ),
        ("jax.grad(loss)(params)", "lax.pmean(jax.grad(loss)(params), 'i')"),
    ],
)
def test_a_chain_that_goes_up(before: str, after: str):
    assert before in CHAIN
    assert found("DF113", CHAIN) == found("DF113", CHAIN.replace(before, after)) == [5]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cosine_decay_schedule(1e-3, 100)", "cosine_decay_schedule(-1e-3, 100)"),
        ("cosine_decay_schedule(1e-3, 100)", "linear_schedule(init_value=-rate, end_value=0.0)"),
        (
            "cosine_decay_schedule(1e-3, 100)",
            "join_schedules([optax.linear_schedule(0.0, -0.1, 9), optax.constant_schedule(-0.1)])",
        ),
        ("schedule(schedule)", "schedule(lambda count: -schedule(count))"),
        (
            "return jnp.mean((x @ params - y) ** 2)",
            "return jnp.mean(jax.nn.log_sigmoid(x @ params))",
        ),
        ("jax.grad(loss)(params)", "-jax.grad(loss)(params)"),
        ("jax.grad(loss)(params)", "jax.tree.map(jnp.negative, jax.grad(loss)(params))"),
    ],
)
def test_a_chain_that_goes_down_or_makes_a_score_larger(before: str, after: str):
    assert before in CHAIN
    assert found("DF113", CHAIN.replace(before, after)) == []
