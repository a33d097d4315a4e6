"""How derivatives are asked for and taken apart: arguments, results, rules, optimisers."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a cotangent with as many rows as were read": """
        @jax.custom_vjp
        def rows(table, ids):
            return table[ids]

        def fwd(table, ids):
            return rows(table, ids), (ids, table.shape[0])

        def bwd(kept, g):
            ids, count = kept
            wrong = jax.ops.segment_sum(g, ids, num_segments=ids.size)  # GR016
            return wrong, None

        rows.defvjp(fwd, bwd)

        def entry(table, ids):
            return jax.grad(lambda it: jnp.sum(rows(it, ids) ** 2))(table)

        def inputs():
            return jnp.ones((5, 2)), jnp.arange(3)
        """,
    "a function that is handed to who takes its derivative": """
        def energies(place, springs):
            return springs * place**2  # GR201

        def descend(energy, place):
            return place - 0.1 * jax.grad(energy)(place)

        def entry(place, springs):
            return descend(lambda it: jnp.sum(energies(it, springs)), place), descend(
                functools.partial(energies, springs=springs), place
            )

        def inputs():
            return jnp.ones(3), jnp.ones(3)
        """,
    "a record that is called, and is a vector of one number": """
        from typing import NamedTuple

        class Layer(NamedTuple):
            weight: jax.Array

            def __call__(self, x):
                return self.weight @ x

        class Field(NamedTuple):
            layers: tuple

            def __call__(self, x):
                for layer in self.layers[:-1]:
                    x = jnp.sin(layer(x))
                return self.layers[-1](x)  # GR201

        def slopes(field):
            return jax.grad(field)

        def entry(field, points):
            slope = slopes(field)
            return jax.vmap(field)(points), jax.vmap(lambda x: slope(x))(points)

        def inputs():
            layers = Layer(jnp.ones((4, 2))), Layer(jnp.ones((1, 4)))
            return Field(layers), jnp.ones((5, 2))
        """,
    "a density for each group, whose slope two steps take": """
        def make(groups, seen):
            def log_density(place):
                fit = -0.5 * (seen - place[groups]) ** 2
                return jax.ops.segment_sum(fit, groups, num_segments=4)  # GR201

            return log_density

        def leap(log_density, place, momentum):
            slope = jax.grad(log_density)
            momentum = momentum + 0.1 * slope(place)
            place = place + 0.2 * momentum
            return place, momentum + 0.1 * slope(place)

        def entry(place, momentum, groups, seen):
            return leap(make(groups, seen), place, momentum)

        def inputs():
            return jnp.ones(4), jnp.ones(4), jnp.array([0, 1, 2, 3, 3]), jnp.ones(5)
        """,
    "a cotangent of an entry of a dict with all axes summed": """
        @jax.custom_vjp
        def affine(params, x):
            return x * params["scale"] + params["shift"]

        def forward(params, x):
            return affine(params, x), (params["scale"], x)

        def backward(saved, g):
            scale, x = saved
            slopes = {"scale": jnp.sum(g * x, axis=0), "shift": jnp.sum(g)}  # GR016
            slope = g * scale
            return slopes, slope

        affine.defvjp(forward, backward)

        def entry(params, x):
            return jax.grad(lambda p: jnp.sum(affine(p, x) ** 2))(params)

        def inputs():
            return {"scale": jnp.ones(3), "shift": jnp.ones(3)}, jnp.ones((5, 3))
        """,
    "rules that return a pair the other way round": """
        @jax.custom_jvp
        def softened(x, width):
            return jnp.tanh(x / width)

        @softened.defjvp
        def softened_jvp(primals, tangents):
            x, width = primals
            dx, _ = tangents
            y = softened(x, width)
            return (1 - y**2) / width * dx, y  # GR016

        @jax.custom_vjp
        def product(x, y):
            return x * y

        def product_fwd(x, y):
            return (x, y), x * y  # GR016

        def product_bwd(res, g):
            x, y = res
            return g * y, g * x

        product.defvjp(product_fwd, product_bwd)

        def use(x, y):
            return softened(x, y) + product(x, y)
        """,
    "parameters where gradients belong": """
        import optax

        class Trainer:
            def __init__(self):
                self.tx = optax.chain(optax.clip(1.0), optax.adam(1e-3))

            def _apply(self, params, state, grads):
                updates, state = self.tx.update(params, state, grads)  # GR205
                return optax.apply_updates(params, updates), state

            def step(self, params, state, x):
                grads = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
                return self._apply(params, state, grads)

        def decay(tx, params, state):
            updates, state = tx.update(params, state)  # GR205
            return optax.apply_updates(params, updates), state

        def train_step(state, x):
            loss = jnp.mean(state.apply_fn(state.params, x))
            return state.apply_gradients(grads=state.params)  # GR205
        """,
    "a number that says of what the gradient is": """
        import optax

        def loss(batch, params):
            return jnp.mean((batch @ params["w"]) ** 2)

        gradient = jax.grad(loss, argnums=0)  # GR204

        def step(tx, params, state, batch):
            updates, state = tx.update(gradient(batch, params), state)
            return optax.apply_updates(params, updates), state
        """,
    "no reduction after a map": """
        def loss(w, x, y):
            return jax.vmap(lambda a, b: (a @ w - b) ** 2)(x, y)

        gradient = jax.grad(loss)  # GR201
        """,
    "several values without has_aux": """
        def loss(w, x):
            out = x @ w
            return out.mean(), {"out": out}

        def update(w, x):
            return jax.value_and_grad(loss)(w, x)  # GR201
        """,
    "no pair with has_aux": """
        def update(w, x):
            return jax.grad(lambda w: jnp.mean(x @ w), has_aux=True)(w)  # GR201
        """,
    "an argument that is not there, and one that is an integer": """
        def loss(w, x):
            return jnp.sum(x @ w)

        def update(w, x):
            return jax.grad(loss, argnums=2)(w, x)  # GR202

        def slope():
            return jax.grad(lambda x: x**2)(3)  # GR202
        """,
    "names in the wrong order, or too many": """
        def loss_of(w, x):
            out = x @ w
            return out.mean(), out

        both = jax.jit(jax.value_and_grad(loss_of, has_aux=True))

        def one(w, x):
            loss, out, grads = both(w, x)  # GR203
            return grads

        def two(w, x):
            grads, loss = jax.value_and_grad(lambda w: jnp.mean(x @ w))(w)  # GR203
            return grads

        def three(w, x):
            loss, grads = jax.grad(lambda w: jnp.mean(x @ w))(w)  # GR203
            return grads
        """,
    "rules that take, unpack or return too much": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
        def scaled(n, x, y):
            return x * y * n

        def scaled_fwd(n, x, y):
            return x * y * n, (x, y, n)

        def scaled_bwd(n, res, g):
            x, y = res  # GR016
            return g * y * n, g * x * n

        scaled.defvjp(scaled_fwd, scaled_bwd)

        @jax.custom_vjp
        def shifted(x, y):
            return x + y

        def shifted_fwd(x):  # GR016
            return x, None

        def shifted_bwd(n, res, g):  # GR016
            return g, g

        shifted.defvjp(shifted_fwd, shifted_bwd)

        @jax.custom_vjp
        def single(x):
            return x

        def single_fwd(x):
            return x, None, 1  # GR016

        def single_bwd(res, g):
            return g, g  # GR016

        single.defvjp(single_fwd, single_bwd)
        """,
    "a while loop in reverse": """
        def root(theta, x):
            def body(state):
                x, r = state
                return x - r / theta, theta * x - 1.0
            return lax.while_loop(lambda s: s[1] > 1e-6, body, (x, jnp.ones(())))[0]  # GR018

        gradient = jax.grad(root)
        """,
    "the gradient of the data, by which weights are changed": """
        def error(x, y, weights):
            return jnp.mean((x @ weights["w"] + weights["b"] - y) ** 2)

        def step(weights, batch, lr):
            x, y = batch
            slopes = jax.grad(error)(x, y, weights)  # GR204
            return jax.tree.map(lambda w, g: w - lr * g, weights, slopes)
        """,
    "the gradient of a latent, for the optimiser of a decoder": """
        import optax

        class Trainer:
            def __init__(self, lr):
                self.tx = optax.adam(lr)

            def loss(self, latent, decoder, image):
                return jnp.mean((jnp.tanh(latent @ decoder) - image) ** 2)

            def step(self, decoder, state, latent, image):
                value, slopes = jax.value_and_grad(self.loss)(latent, decoder, image)  # GR204
                updates, state = self.tx.update(slopes, state, decoder)
                return optax.apply_updates(decoder, updates), state, value
        """,
    "a pair for an optimiser": """
        def fit(tx, loss, params, state, batch):
            pair = jax.value_and_grad(loss)(params, batch)
            updates, state = tx.update(pair, state)  # GR203
            return optax.apply_updates(params, updates), state
        """,
    "gradients that are unpacked with what a loss returns": """
        def fit(objective, params, batch):
            gradient = jax.value_and_grad(objective, has_aux=True)
            loss, (logits, grads) = gradient(params, batch)  # GR203
            return loss, logits, grads
        """,
}

RIGHT = {
    "gradients, state and parameters in their order": """
        import optax

        def step(tx, params, state, x):
            grads = jax.grad(lambda p: jnp.mean((x @ p) ** 2))(params)
            updates, state = tx.update(grads, state, params)
            params = optax.apply_updates(params, updates)
            averaged, _ = optax.ema(0.9).update(params, state)
            return params, averaged, state

        def train_step(state, x):
            grads = jax.grad(lambda p: jnp.mean(state.apply_fn(p, x)))(state.params)
            return state.apply_gradients(grads=grads)
        """,
    "gradients for two networks beside what a loss returns": """
        def fit(objective, actor, critic, batch):
            gradient = jax.value_and_grad(objective, argnums=[0, 1], has_aux=True)
            (loss, logs), (grads, other) = gradient(actor, critic, batch)
            return loss, logs, grads, other
        """,
    "gradients of a pair are unpacked into a pair": """
        def update(w, b, x):
            dw, db = jax.grad(lambda p: jnp.mean(x @ p[0] + p[1]))((w, b))
            value, grads = jax.value_and_grad(lambda w: jnp.mean(x @ w))(w)
            grads, aux = jax.grad(lambda w: (jnp.mean(x @ w), w), has_aux=True)(w)
            return dw, db, grads
        """,
    "rules that fit, with defaults and arguments that are not differentiated": """
        @functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
        def clipped(x, limit, slope=1.0):
            return x

        def fwd(x, limit, slope=1.0):
            return x, (x, slope)

        def bwd(limit, res, g):
            x, slope = res
            return jnp.clip(g, -limit, limit) * slope, None

        clipped.defvjp(fwd, bwd)

        @jax.custom_jvp
        def root(x):
            return jnp.sqrt(x)

        @root.defjvp
        def root_rule(primals, tangents):
            (x,), (dx,) = primals, tangents
            y = root(x)
            return y, dx / (2 * y)

        def entry(x):
            return jax.grad(lambda x: jnp.sum(clipped(x, 2.0) + root(x)))(x)
        """,
    "loops that are not differentiated in reverse": """
        def root(theta, x):
            return lax.while_loop(lambda x: x > 1e-6, lambda x: x / theta, x)

        def bounded(theta, x):
            return lax.fori_loop(0, 8, lambda i, x: x / theta, x)

        forward = jax.jacfwd(root)
        stopped = jax.grad(lambda theta, x: theta * stop_gradient(root(theta, x)))
        backward = jax.grad(bounded)
        """,
    "integers beside the parameters": """
        def loss(w, label):
            return jnp.sum(w) - w[label]

        def total(*weights):
            return sum(jnp.sum(w) for w in weights)

        def update(w, *rest):
            return jax.grad(total, argnums=2)(w, *rest)

        def slope(w):
            return jax.grad(loss)(w, 3), jax.grad(lambda n: 2.0 * n, allow_int=True)(3)
        """,
    "a momentum that changes by the slope at a position": """
        def energy(position, momentum):
            return jnp.sum(position["x"] ** 2) + jnp.sum(momentum["x"] ** 2)

        def leap(position, momentum, dt):
            slope = jax.grad(energy)(position, momentum)
            return jax.tree.map(lambda p, g: p - dt * g, momentum, slope)
        """,
    "the gradient at weights nearby": """
        import optax

        def first_order(tx, error, weights, state, noise, data):
            nearby = jax.tree.map(lambda w, n: w + n, weights, noise)
            slopes = jax.grad(error)(nearby, weights, data)
            updates, state = tx.update(slopes, state)
            return optax.apply_updates(weights, updates), state
        """,
    "a flag that may also be a function, which says what is given": """
        def with_slope(function, given):
            if isinstance(given, bool) and given:
                return function
            if isinstance(given, bool) and not given:
                return jax.value_and_grad(function)
            return given

        def search(x):
            function = jax.value_and_grad(lambda x: jnp.sum(x**2))
            return with_slope(function, True)(x)
        """,
    "weights that are adapted by steps along a gradient": """
        def forward(weights, x):
            return jnp.tanh(x @ weights["w"]) + weights["b"]

        def error(weights, x, y):
            return jnp.mean((forward(weights, x) - y) ** 2)

        def adapted(weights, x, y):
            def turn(inner, _):
                slopes = jax.grad(error)(inner, x, y)
                return jax.tree.map(lambda w, g: w - 0.01 * g, inner, slopes), None

            return jax.lax.scan(turn, weights, None, length=5)[0]

        def across(weights, task):
            return error(adapted(weights, task[0], task[1]), task[2], task[3])

        def outer(weights, task):
            return jax.grad(across)(weights, task)
        """,
    "gradients with respect to two arguments, for an optimiser": """
        def fit(tx, loss, params, scale, state, batch):
            grads = jax.grad(loss, argnums=(0, 1))(params, scale, batch)
            updates, state = tx.update(grads, state)
            return updates, state
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")


def test_a_function_that_several_derivatives_ask_for_one_number():
    check_found(
        """
        def field(params, x, t):
            hidden = jnp.tanh(params["in"] @ jnp.stack([x, t]))
            return params["out"] @ hidden  # GR201

        def residual(params, x, t):
            by_time = jax.grad(field, argnums=2)(params, x, t)
            return by_time + jax.grad(field, argnums=1)(params, x, t)

        def entry(params, x, t):
            return residual(params, x, t)

        def inputs():
            return {"in": jnp.ones((4, 2)), "out": jnp.ones((1, 4))}, 0.5, 0.5
        """,
        "grad",
    )
