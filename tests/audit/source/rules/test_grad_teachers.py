"""Targets of other models, sharper predictions, multipliers, and zeros that are filled in."""

from .claims import check_found, check_silent, each_of

_TWO_MODELS = """
    def loss(params, obs, reward, after):
        q = jnp.tanh(obs @ params["q"])
        v = jnp.tanh(obs @ params["v"])
        following = jnp.tanh(after @ params["v"])
        of_q = jnp.mean((q - (reward + 0.9 * {following})) ** 2){claim}
        gap = jax.lax.stop_gradient(q) - v
        return of_q + jnp.mean(jnp.where(gap > 0, 0.8, 0.2) * gap**2)

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        params = {{"q": jnp.ones(3), "v": jnp.ones(3)}}
        return params, jnp.ones((5, 3)), jnp.ones(5), jnp.zeros((5, 3))
    """
_TEACHER = """
    def agree(learns, teaches, centre):
        wanted = jax.nn.softmax((teaches - centre) / {cold})
        return -jnp.mean(jnp.sum(wanted * jax.nn.log_softmax(learns / 0.1), -1))

    def loss(w, x, y, centre):
        one, other = x @ w, y @ w
        return agree(one, {other}, centre){claim}

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        return jnp.ones((3, 4)), jnp.ones((5, 3)), jnp.zeros((5, 3)), jnp.zeros(4)
    """
_LATENTS = """
    def encoded(params, obs):
        return jnp.tanh(obs @ params["e"])

    def loss(params, obs, after):
        predicted = encoded(params, obs) @ params["p"]
        error = jnp.mean((predicted - {goal}) ** 2){claim}
        return error{held}

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        params = {{"e": jnp.ones((3, 4)), "p": jnp.ones((4, 4)), "d": jnp.ones((4, 3))}}
        return params, jnp.ones((5, 3)), jnp.zeros((5, 3))
    """
_ANGLES = """
    def unit(x):
        return x / (jnp.linalg.norm(x, axis=-1, keepdims=True) + 1e-6)

    def apart(one, other):
        return 2.0 - 2.0 * jnp.sum(unit(one) * unit(other), axis=-1)

    def loss(params, x, y):
        one, other = jnp.tanh(x @ params["e"]), jnp.tanh(y @ params["e"])
        return jnp.mean(apart({predicted}, {goal})){claim}

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        return {{"e": jnp.ones((3, 4)), "p": jnp.ones((4, 4))}}, jnp.ones((5, 3)), jnp.zeros((5, 3))
    """
_TEMPERATURE = """
    def loss(params, obs, wanted):
        scores = jax.nn.log_sigmoid(obs @ params["w"])
        alpha = jnp.exp(params["log_alpha"])
        of_policy = jnp.mean(jax.lax.stop_gradient(alpha) * scores - obs @ params["w"])
        return of_policy - jnp.mean(params["log_alpha"] * {weight}){claim}

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        return {{"w": jnp.ones(3), "log_alpha": jnp.array(0.1)}}, jnp.ones((5, 3)), 2.0
    """
_FILLED = """
    def safely(ok, function, x):
        filled = jnp.where(ok, x, {fill}){claim}
        return jnp.where(ok, function(filled), 0.0)

    def energy(params, r):
        def pair(r):
            return {pair}

        return jnp.sum(safely(r > 0.1, pair, r))

    def entry(*given):
        return jax.grad(energy)(*given)

    def inputs():
        return {{"size": jnp.array(1.0), "depth": jnp.array(2.0)}}, jnp.arange(4.0)
    """
_CONSISTENCY = """
    def denoised(params, x, t):
        return x / (1 + t) + t * (jnp.tanh(x @ params["a"]) @ params["b"])

    def loss(params, x, noise):
        far = denoised(params, x + 0.5 * noise, 0.5)
        near = denoised(params, x + 0.3 * noise, 0.3)
        return jnp.mean((far - jax.lax.stop_gradient(near)) ** 2)

    def entry(*given):
        return jax.grad(loss)(*given)

    def inputs():
        return {"a": jnp.ones((3, 8)), "b": jnp.ones((8, 3))}, jnp.ones((5, 3)), jnp.ones((5, 3))
    """
_INDICES = """
    def cell(x, edges):
        return jnp.searchsorted(edges, x)

    def cost(w, x, edges, prices):
        offer = jax.nn.softplus(x @ w)
        return jnp.mean(prices[cell(offer, edges)])  # GR010

    def entry(*given):
        return jax.grad(cost)(*given)

    def inputs():
        return jnp.ones(3), jnp.ones((5, 3)), jnp.arange(4.0), jnp.arange(5.0)
    """

WRONG = {
    "two models that learn from one another": _TWO_MODELS.format(
        following="following", claim="  # GR014"
    ),
    "a sharper prediction": _TEACHER.format(cold=0.04, other="other", claim="  # GR014"),
    "a policy in the term of its temperature": _TEMPERATURE.format(
        weight="(scores + wanted)", claim="  # GR015"
    ),
    "zeros that a trained number is divided by": _FILLED.format(
        fill="0.0", pair='(params["size"] / r) ** 6', claim="  # GR301"
    ),
    "zeros whose inverse is times a trained number": _FILLED.format(
        fill="0.0", pair='params["depth"] * r ** -6', claim="  # GR301"
    ),
    "indices that a loss is looked up by": _INDICES,
    "latents that are predicted, and nothing else": _LATENTS.format(
        goal="encoded(params, after)", held="", claim="  # GR014"
    ),
    "a prediction that is turned to where its model is": _ANGLES.format(
        predicted='one @ params["p"]', goal="other", claim="  # GR014"
    ),
    "a rule that was to pass a gradient through, and gives zeros": """
        @jax.custom_vjp
        def through(x):
            return jnp.round(x)

        def forward(x):
            return through(x), x

        def backward(x, g):
            return (jnp.zeros_like(x),)  # GR010

        through.defvjp(forward, backward)

        def entry(w, x):
            return jax.grad(lambda w: jnp.mean(through(x @ w) ** 2))(w)

        def inputs():
            return jnp.ones(3), jnp.ones((5, 3))
        """,
}

RIGHT = {
    "two models that are constants to one another": _TWO_MODELS.format(
        following="jax.lax.stop_gradient(following)", claim=""
    ),
    "a sharper prediction that is stopped": _TEACHER.format(
        cold=0.04, other="jax.lax.stop_gradient(other)", claim=""
    ),
    "two predictions that are to agree": _TEACHER.format(cold=0.1, other="other", claim=""),
    "a temperature that is trained alone": _TEMPERATURE.format(
        weight="jax.lax.stop_gradient(scores + wanted)", claim=""
    ),
    "ones that a trained number is divided by": _FILLED.format(
        fill="1.0", pair='(params["size"] / r) ** 6', claim=""
    ),
    "zeros that are multiplied": _FILLED.format(
        fill="0.0", pair='params["depth"] * r**6', claim=""
    ),
    "latents that are predicted from constants": _LATENTS.format(
        goal="jax.lax.stop_gradient(encoded(params, after))", held="", claim=""
    ),
    "latents that data holds apart": _LATENTS.format(
        goal="encoded(params, after)",
        held=' + jnp.mean((encoded(params, obs) @ params["d"] - obs) ** 2)',
        claim="",
    ),
    "two views that are to agree": _ANGLES.format(predicted="one", goal="other", claim=""),
    "a stopped value that is made as the trained one is": _CONSISTENCY,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
