"""Derivatives that are infinite where a program gets to, and how it keeps away."""

from .claims import check_found, check_silent, each_of

WRONG = {
    "a kernel of each particle with each": """
        def kernel(x, y):
            return jnp.exp(-jnp.linalg.norm(x - y) ** 2)  # GR302

        def direction(particles, x):
            return jax.vmap(lambda other: jax.grad(kernel)(other, x))(particles).mean(0)

        def step(particles):
            return jax.vmap(functools.partial(direction, particles))(particles)
        """,
    "a descent that starts with zeros": """
        def rotation(omega):
            angle = jnp.linalg.norm(omega)  # GR302
            return omega / jnp.maximum(angle, 1e-6) * jnp.sin(angle)

        def fit(target, steps):
            def step(omega, _):
                slope = jax.grad(lambda o: jnp.sum((rotation(o) - target) ** 2))(omega)
                return omega - 0.1 * slope, None

            return lax.scan(step, jnp.zeros(3), None, length=steps)

        def by_hand(target):
            params = {"w": jnp.zeros(3)}
            for _ in range(10):
                slope = jax.grad(lambda p: jnp.sqrt(jnp.sum((p["w"]) ** 2)))(params)  # GR302
                params = jax.tree.map(lambda p, g: p - g, params, slope)
            return params
        """,
    "choices that come too late": """
        def length(r):
            d2 = jnp.sum(r * r, -1)
            return jnp.sum(jnp.where(d2 > 0, jnp.sqrt(d2), 0.0))  # GR301

        def unit(x):
            n = jnp.linalg.norm(x)
            return jnp.sum(jnp.where(n == 0, 0.0, x / n))  # GR301

        forces, slopes = jax.grad(length), jax.vmap(jax.grad(unit))
        """,
    "distances of all pairs, each with itself among them": """
        def distances(points):
            return jnp.linalg.norm(points[:, None] - points[None, :], axis=-1)  # GR302

        def energy(points, mask):
            return jnp.sum(mask * distances(points) ** 3)

        def forces(points, mask):
            return -jax.grad(energy)(points, mask)
        """,
    "distances of all pairs, by maps": """
        def distance(a, b):
            return jnp.sqrt(((a - b) ** 2).sum())  # GR302

        def energy(points):
            pairs = jax.vmap(jax.vmap(distance, (None, 0)), (0, None))(points, points)
            return jnp.exp(-pairs).sum()

        def forces(points):
            return -jax.grad(energy)(points)
        """,
    "a root of what is cut off": """
        class Model:
            def deviation(self, params, x):
                variance = jnp.maximum(x @ params["v"], 0.0)
                return jnp.sqrt(variance)  # GR302

            def loss(self, params, x):
                return jnp.mean(self.deviation(params, x))

            def step(self, params, x):
                return jax.grad(self.loss)(params, x)
        """,
    "squares that are summed up by their letters": """
        def energy(x):
            offset = x[:, None, :] - x[None, :, :]
            return jnp.sum(jnp.sqrt(jnp.einsum("ijd,ijd->ij", offset, offset)))  # GR302

        def force(x):
            return jax.grad(energy)(x)
        """,
}

RIGHT = {
    "products of differences that are not summed up with themselves": """
        def energy(x, metric):
            offset = x[:, None, :] - x[None, :, :]
            turned = jnp.einsum("ijd,de->ije", offset, metric)
            return jnp.sum(jnp.sqrt(jnp.einsum("ijd,ijd->ij", offset, turned) + 1e-6))

        def force(x, metric):
            return jax.grad(energy)(x, metric)
        """,
    "zeros that nobody asks the gradient of, and zeros that are kept away from": """
        def network(w, xs):
            def step(h, x):
                h = jnp.tanh(h + x @ w)
                return h, jnp.linalg.norm(h)

            return lax.scan(step, jnp.zeros(3), xs)[1].sum()

        def fit(target, w):
            def step(omega, _):
                slope = jax.grad(lambda o: jnp.sqrt(jnp.sum(o**2) + 1e-12))(omega)
                return omega - 0.1 * slope, jax.grad(network)(w, target)

            return lax.scan(step, jnp.zeros(3), None, length=3)
        """,
    "choices before and after": """
        def length(r):
            d2 = jnp.sum(r * r, -1)
            ok = d2 > 0
            return jnp.sum(jnp.where(ok, jnp.sqrt(jnp.where(ok, d2, 1.0)), 0.0))

        forces = jax.grad(length)
        """,
    "distances of all pairs that are kept from zero": """
        def distances(points):
            apart = points[:, None] - points[None, :]
            squared = jnp.sum(apart**2, axis=-1)
            own = jnp.eye(points.shape[0], dtype=bool)
            return jnp.where(own, 0.0, jnp.sqrt(jnp.where(own, 1.0, squared)))

        def soft(points, others):
            apart = jnp.linalg.norm(points[:, None] - others[None, :], axis=-1)
            return apart + jnp.sqrt(jnp.sum((points[:, None] - points[None, :]) ** 2, -1) + 1e-9)

        def energy(points, others):
            bounded = jnp.sqrt(jnp.maximum(points[:, 0], 1e-6))
            return distances(points).sum() + soft(points, others).sum() + bounded.sum()

        def forces(points, others):
            return -jax.grad(energy)(points, others)
        """,
}


@each_of(WRONG)
def test_it_is_found(program: str):
    check_found(program, "grad")


@each_of(RIGHT)
def test_it_is_left_alone(program: str):
    check_silent(program, "grad")
