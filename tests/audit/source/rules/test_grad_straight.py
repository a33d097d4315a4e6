"""Straight-through estimators, however their sums are written."""

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "sums of what is negated": """
        def first(w, x):
            q = jnp.round(w)
            return jnp.sum((q + -stop_gradient(q + -w)) * x)  # GR013

        def second(w, x):
            q = jnp.round(w)
            return jnp.mean((x - (stop_gradient(q + w) - w)) ** 2)  # GR013

        gradients = jax.grad(first), jax.grad(second)
        """,
    "what is stopped, the wrong way round": """
        def first(w, x):
            q = jnp.round(w)
            return jnp.sum((w + stop_gradient(w - q)) * x)  # GR013

        def second(w, x):
            q = jnp.round(w)
            return jnp.sum((w - stop_gradient(q - w)) * x)  # GR013

        gradients = jax.grad(first), jax.grad(second)
        """,
    "the value of a hard sample cancels": """
        def sample(key, logits):
            soft = jax.nn.softmax(logits + jax.random.gumbel(key, logits.shape))
            hard = jax.nn.one_hot(soft.argmax(-1), soft.shape[-1])
            return soft + (hard - stop_gradient(hard))  # GR013

        def loss(params, key, x, y):
            return jnp.mean((sample(key, x @ params["enc"]) @ params["dec"] - y) ** 2)

        step = jax.jit(jax.value_and_grad(loss))
        """,
    "signs with a scale that is trained": """
        class Layer:
            def binary(self, w):
                hard = jnp.mean(jnp.abs(w)) * jnp.where(w >= 0, 1.0, -1.0)
                return hard + stop_gradient(jnp.tanh(w) - hard)  # GR013

            def loss(self, w, x, y):
                return jnp.mean((x @ self.binary(w) - y) ** 2)

        def update(w, x, y):
            return w - 0.1 * jax.grad(Layer().loss)(w, x, y)
        """,
    "nothing is stopped": """
        def quantise(z, levels):
            q = jnp.round(z * levels) / levels
            return z + (q - z)  # GR013

        def loss(w, x):
            return jnp.sum(quantise(x @ w, 8) ** 2)

        gradient = jax.grad(loss)
        """,
    "a helper of two values is given them in the wrong order": """
        def value_of(shown, trained):
            return trained + stop_gradient(shown - trained)

        def fire(u):
            smooth = jax.nn.sigmoid(4 * u)
            return value_of(smooth, jnp.where(u > 0, 1.0, 0.0))  # GR013

        gradient = jax.grad(lambda w, x: jnp.sum(fire(x @ w) ** 2))
        """,
    "a helper of two values mixes up what its caller names alike": """
        def through(hard, soft):
            return hard + stop_gradient(soft - hard)  # GR013

        def fire(u):
            soft = jax.nn.sigmoid(4 * u)
            hard = jnp.round(soft)
            return through(hard, soft)

        gradient = jax.grad(lambda w, x: jnp.sum(fire(x @ w) ** 2))
        """,
    "a function of two functions is given them in the wrong order": """
        def estimator(shown, trained):
            def apply(x):
                slope = trained(x)
                return slope + stop_gradient(shown(x) - slope)
            return apply

        rounded = estimator(lambda x: x * 1.0, jnp.round)  # GR013

        gradient = jax.grad(lambda w, x: jnp.sum(rounded(x @ w) ** 2))
        """,
    "an object of two functions is given them in the wrong order": """
        class Through:
            def __init__(self, shown, trained):
                self.shown, self.trained = shown, trained

            def __call__(self, x):
                slope = self.trained(x)
                return slope - stop_gradient(slope) + stop_gradient(self.shown(x))

        KINDS = {"sign": Through(jnp.tanh, jnp.sign)}  # GR013

        gradient = jax.grad(lambda w, x: jnp.sum(KINDS["sign"](x @ w) ** 2))
        """,
    "codes that already pass their gradient on are to be learned": """
        def loss(params, x):
            z = x @ params["enc"]
            code = params["codes"][jnp.argmin(jnp.abs(z - params["codes"][:, 0]))]
            code = z + stop_gradient(code - z)
            learn = jnp.mean((code - stop_gradient(z)) ** 2)  # GR013
            commit = jnp.mean((stop_gradient(code) - z) ** 2)
            return jnp.mean((code @ params["dec"] - x) ** 2) + learn + commit

        gradient = jax.grad(loss)
        """,
    "a hard sample in what has the shape of the soft one": """
        def sample(logits):
            soft = jax.nn.softmax(logits)
            hard = jnp.zeros_like(soft).at[soft.argmax()].set(1.0)
            return hard - stop_gradient(hard) + stop_gradient(soft)  # GR013

        gradient = jax.grad(lambda w, x: jnp.sum(sample(x @ w) ** 2))
        """,
    "what is differentiated takes itself away": """
        def signs(w):
            return jnp.sign(w) * jnp.mean(jnp.abs(w))

        def passed(x, quantise):
            return x + stop_gradient(quantise(x)) - x  # GR013

        def bounded(x):
            moved = jnp.add(x, stop_gradient(jnp.clip(x, -1.0, 1.0)))
            return -x + moved  # GR013

        def first(w, x):
            return jnp.sum((x @ passed(w, signs)) ** 2)

        def second(w, x):
            return jnp.sum(bounded(w) * w * x)

        gradients = jax.grad(first), jax.grad(second)
        """,
}

RIGHT = {
    "how far something has moved, or is from where it was": """
        def signs(w):
            return jnp.sign(w) * jnp.mean(jnp.abs(w))

        def first(w, x):
            moved = w + stop_gradient(signs(w))
            return jnp.sum((x @ moved) ** 2) + jnp.sum((moved - w) ** 2)

        def second(w, x):
            return jnp.sum(x @ (stop_gradient(signs(w)) + w - stop_gradient(w)))

        def third(w, x):
            return jnp.sum(w * stop_gradient(signs(w) + w - w))

        gradients = jax.grad(first), jax.grad(second), jax.grad(third)
        """,
    "an estimator that is taken away, negated, or a constant": """
        def through(w):
            return w + stop_gradient(jnp.round(w) - w)

        def less(w, x):
            return jnp.mean((x - through(w)) ** 2)

        def negated(w, x):
            return jnp.sum(x * (w + -stop_gradient(w + -jnp.round(w)))) - jnp.sum(-through(w))

        def spiking(w, currents):
            def tick(voltage, current):
                voltage = 0.9 * voltage + current @ w
                soft, hard = jax.nn.sigmoid(voltage), jnp.where(voltage > 0, 1.0, 0.0)
                spikes = soft + stop_gradient(hard - soft)
                return voltage * (1.0 - stop_gradient(spikes)), spikes

            return jnp.mean(lax.scan(tick, jnp.zeros(6), currents)[1])

        gradients = jax.grad(less), jax.grad(negated), jax.grad(spiking)
        """,
    "what rounding has left, beside the value": """
        def loss(w, x):
            through = w + stop_gradient(jnp.round(w) - w)
            left = w - through
            again = left + stop_gradient(jnp.round(4 * left) / 4 - left)
            return jnp.sum((through + again) * x) - jnp.sum(-through * x)

        gradient = jax.grad(loss)
        """,
    "a gradient that is turned round on purpose": """
        def reversed_gradient(x):
            return stop_gradient(x) + stop_gradient(x) - x

        def loss(params, x):
            h = jnp.tanh(x @ params["enc"])
            fooled = jnp.mean((reversed_gradient(h) @ params["judge"]) ** 2)
            return jnp.mean((h @ params["dec"] - x) ** 2) + fooled

        gradient = jax.grad(loss)
        """,
    "helpers of two values and of two functions": """
        def value_of(shown, trained):
            return trained + stop_gradient(shown - trained)

        def estimator(shown, trained):
            return lambda x: value_of(shown(x), trained(x))

        rounded = estimator(jnp.round, lambda x: x * 1.0)

        def fire(u):
            smooth = jax.nn.sigmoid(4 * u)
            return value_of(jnp.where(u > 0, 1.0, 0.0), smooth)

        gradient = jax.grad(lambda w, x: jnp.sum(rounded(fire(x @ w)) ** 2))
        """,
    "stages that each quantise what the ones before have left": """
        def stage(codes, z):
            q = codes[jnp.argmin(jnp.sum((z[:, None] - codes) ** 2, -1), -1)]
            learn = jnp.mean((q - stop_gradient(z)) ** 2)
            commit = jnp.mean((z - stop_gradient(q)) ** 2)
            return z + stop_gradient(q - z), learn + 0.2 * commit

        def loss(params, x):
            z = x @ params["enc"]
            first, one = stage(params["coarse"], z)
            left = z - stop_gradient(first)
            second, two = stage(params["fine"], left)
            left = left - stop_gradient(second)
            third, three = stage(params["finest"], left)
            total = first + second + third
            return jnp.mean((total @ params["dec"] - x) ** 2) + one + two + three

        gradient = jax.grad(loss)
        """,
    "the slope of another function": """
        def activation(x):
            leaky = jnp.where(x > 0, x, 0.1 * x)
            return stop_gradient(jnp.maximum(x, 0.0)) + leaky - stop_gradient(leaky)

        def loss(w, x):
            return jnp.sum(activation(x @ w))

        gradient = jax.grad(loss)
        """,
    "a slope that is cut off outside of a window": """
        def sign(x):
            inside = x * (jnp.abs(x) < 1.0)
            return inside - stop_gradient(inside) + stop_gradient(jnp.sign(x))

        def loss(w, x):
            return jnp.sum(sign(x @ w))

        gradient = jax.grad(loss)
        """,
    "a fraction is put back": """
        def loss(w, x):
            place = x @ w
            low = jnp.floor(place)
            return jnp.sum((low + (place - low)) ** 2)

        gradient = jax.grad(loss)
        """,
    "hard and soft, with the soft one's value taken out": """
        def loss(params, x, y):
            soft = jax.nn.softmax(x @ params["route"])
            hard = jax.nn.one_hot(jnp.argmax(soft, -1), soft.shape[-1])
            return jnp.mean((hard - stop_gradient(soft) + soft) @ params["out"] - y)

        gradient = jax.grad(loss)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")


def test_a_term_that_is_gone_is_told_where_it_goes_and_not_in_a_larger_sum():
    program = """
    def hard(p):
        on = (p > 0.5).astype(p.dtype)
        return p + lax.stop_gradient(on) - p

    def loss(w, x, before):
        on = hard(jax.nn.sigmoid(x @ w))
        return jnp.sum((on - before) ** 2)

    def step(w, x, before):
        return w - 0.1 * jax.grad(loss)(w, x, before)
    """
    assert found("GR013", program) == [3]
    right = program.replace("p + lax.stop_gradient(on) - p", "p + lax.stop_gradient(on - p)")
    assert found("GR013", right) == []
