"""A damped oscillator solved with adaptive steps, and the gradient of its energy at the end."""

import diffrax
import jax
import jax.numpy as jnp


def field(t, y, args):
    position, velocity = y
    stiffness, damping = args
    return velocity, -stiffness * position - damping * velocity


def energy(stiffness, start):
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(field),
        diffrax.Tsit5(),
        t0=0.0,
        t1=2.0,
        dt0=0.1,
        y0=start,
        args=(stiffness, 0.1),
        stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-6),
        saveat=diffrax.SaveAt(ts=jnp.linspace(0.0, 2.0, 5)),
    )
    position, velocity = solution.ys
    return 0.5 * velocity[-1] ** 2 + 0.5 * stiffness * position[-1] ** 2


@jax.jit
def entry(stiffness, start):
    return jax.value_and_grad(energy)(stiffness, start)


def inputs():
    return jnp.float32(1.5), (jnp.float32(1.0), jnp.float32(0.0))
