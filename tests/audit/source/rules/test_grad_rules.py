"""Derivatives written by hand: of methods, with arguments in another order, with zeros."""

from .claims import check_found, check_silent, each_of
from .reading import found

WRONG = {
    "rules of a method, which have their object already": """
        class Table:
            def __init__(self, step):
                self.step = step
                self.read = jax.custom_vjp(self._read)
                self.read.defvjp(self._forward, self._backward)

            def _read(self, rows, place):
                return rows * place

            def _forward(self, rows, place):
                return self._read(rows, place), (rows, place, self.step)

            def _backward(self, kept, g):
                rows, place = kept  # GR016
                return g * place, g * rows

        def entry(rows, place):
            table = Table(2.0)
            return jax.grad(lambda it: jnp.sum(table.read(it, place)))(rows)

        def inputs():
            return jnp.ones(3), jnp.ones(3)
        """,
    "a rule of a method that takes one argument too few": """
        class Gain:
            def __init__(self):
                self.apply = jax.custom_vjp(self._apply)
                self.apply.defvjp(self._forward, self._backward)

            def _apply(self, x, gain):
                return x * gain

            def _forward(self, x):  # GR016
                return x, x

            def _backward(self, x, g):
                return g, g * x

        def entry(x, gain):
            return jax.grad(lambda it: jnp.sum(Gain().apply(it, gain)))(x)

        def inputs():
            return jnp.ones(3), jnp.ones(3)
        """,
    "what is not differentiable after the residuals": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def powers(x, count):
            return x**count

        def forward(x, count):
            return x**count, (x, count)

        def backward(kept, count, g):
            x, _ = kept  # GR016
            return (g * count * x ** (count - 1),)

        powers.defvjp(forward, backward)

        def entry(x):
            return jax.grad(lambda it: jnp.sum(powers(it, 3)))(x)

        def inputs():
            return (jnp.ones(3),)
        """,
    "a slope beside a number that is written down": """
        @jax.custom_jvp
        def rounded_corner(x, width):
            return jnp.sqrt(x * x + width * width)

        @rounded_corner.defjvp
        def slope(primals, tangents):
            (x, width), (dx, dwidth) = primals, tangents
            out = jnp.sqrt(x * x + width * width)
            return out, 2 * x / out * dx + width / out * dwidth  # GR017

        def entry(x):
            return jax.grad(lambda it: jnp.sum(rounded_corner(it, 0.1)))(x)

        def inputs():
            return (jnp.ones(3),)
        """,
    "no cotangent for what a network below is trained through": """
        @jax.custom_vjp
        def mix(kernel, x):
            return jnp.convolve(x, kernel, mode="same")

        def forward(kernel, x):
            return mix(kernel, x), (kernel, x)

        def backward(kept, g):
            kernel, x = kept
            return jnp.convolve(g, x[::-1], mode="valid"), jnp.zeros_like(x)  # GR017

        mix.defvjp(forward, backward)

        def loss(params, x):
            return jnp.sum(mix(params["kernel"], jnp.tanh(params["gain"] * x)) ** 2)

        def entry(params, x):
            return jax.grad(loss)(params, x)

        def inputs():
            return {"kernel": jnp.ones(1), "gain": jnp.ones(4)}, jnp.ones(4)
        """,
    "a step whose own derivative is zero, on the other side of its estimate": """
        @jax.custom_jvp
        def fires(v):
            return (v > 0).astype(v.dtype)

        @fires.defjvp
        def never(primals, tangents):
            return fires(*primals), jnp.zeros_like(tangents[0])

        def entry(w, x):
            def loss(w):
                soft = jax.nn.sigmoid(x @ w)
                out = soft + jax.lax.stop_gradient(soft - fires(x @ w))  # GR013
                return jnp.sum(out)

            return jax.grad(loss)(w)

        def inputs():
            return jnp.ones((3, 2)), jnp.ones((4, 3))
        """,
}

RIGHT = {
    "rules of a method": """
        class Table:
            def __init__(self, step):
                self.step = step
                self.read = jax.custom_vjp(self._read)
                self.read.defvjp(self._forward, self._backward)

            def _read(self, rows, place):
                return rows * place

            def _forward(self, rows, place):
                return self._read(rows, place), (rows, place)

            def _backward(self, kept, g):
                rows, place = kept
                return g * place, g * rows

        def entry(rows, place):
            table = Table(2.0)
            return jax.grad(lambda it: jnp.sum(table.read(it, place)))(rows)

        def inputs():
            return jnp.ones(3), jnp.ones(3)
        """,
    "what is not differentiable before the residuals": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def powers(x, count):
            return x**count

        def forward(x, count):
            return x**count, (x, count)

        def backward(count, kept, g):
            x, _ = kept
            return (g * count * x ** (count - 1),)

        powers.defvjp(forward, backward)

        def entry(x):
            return jax.grad(lambda it: jnp.sum(powers(it, 3)))(x)

        def inputs():
            return (jnp.ones(3),)
        """,
    "no cotangent for a mask, through which nothing is trained": """
        @jax.custom_vjp
        def masked(x, mask):
            return x * mask

        def forward(x, mask):
            return x * mask, mask

        def backward(mask, g):
            return g * mask, jnp.zeros_like(mask)

        masked.defvjp(forward, backward)

        def entry(params, x, mask):
            return jax.grad(lambda it: jnp.sum(masked(it * x, mask) ** 2))(params)

        def inputs():
            return jnp.ones(4), jnp.ones(4), jnp.ones(4)
        """,
    "a step whose own derivative is zero, in its estimate": """
        @jax.custom_jvp
        def fires(v):
            return (v > 0).astype(v.dtype)

        @fires.defjvp
        def never(primals, tangents):
            return fires(*primals), jnp.zeros_like(tangents[0])

        def entry(w, x):
            def loss(w):
                soft = jax.nn.sigmoid(x @ w)
                return jnp.sum(soft + jax.lax.stop_gradient(fires(x @ w) - soft))

            return jax.grad(loss)(w)

        def inputs():
            return jnp.ones((3, 2)), jnp.ones((4, 3))
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")


COTANGENTS = """
    @jax.custom_vjp
    def product(x, w):
        return x @ w

    def forward(x, w):
        return x @ w, (x, w)

    def of_weights(x, g):
        return {cotangent}

    def backward(kept, g):
        x, w = kept
        return g @ w.T, of_weights(x, g)

    product.defvjp(forward, backward)
    slopes = jax.grad(lambda w: product(jnp.ones((4, 3)), w).sum())(jnp.ones((3, 2)))
"""


def test_a_cotangent_is_told_in_the_helper_that_makes_it_for_the_rule_alone():
    wrong = COTANGENTS.format(cotangent="g.T @ x")
    assert found("GR016", wrong) == [9]
    assert found("GR016", COTANGENTS.format(cotangent="x.T @ g")) == []
    # Who calls it elsewhere may be right to.
    shared = wrong + "    other = of_weights(jnp.ones((3, 2)), jnp.ones((3, 4)))\n"
    assert found("GR016", shared) == [13]
