"""Incompressible Navier-Stokes on a periodic grid, by Chorin's projection; pressure by FFT."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

NX, NY = 24, 20
LX, LY = 2 * np.pi, 2 * np.pi
VISCOSITY, DT, STEPS = 0.05, 5e-3, 8


class Flow(NamedTuple):
    u: jax.Array  # (x, y): velocity along x
    v: jax.Array  # (x, y): velocity along y


def wave_numbers():
    kx = 2 * jnp.pi * jnp.fft.fftfreq(NX, LX / NX)
    ky = 2 * jnp.pi * jnp.fft.rfftfreq(NY, LY / NY)
    return jnp.meshgrid(kx, ky, indexing="ij")


def ddx(f):
    return (jnp.roll(f, -1, axis=0) - jnp.roll(f, 1, axis=0)) / (2 * LX / NX)


def ddy(f):
    return (jnp.roll(f, -1, axis=1) - jnp.roll(f, 1, axis=1)) / (2 * LY / NY)


def laplacian(f):
    along_x = (jnp.roll(f, -1, axis=0) - 2 * f + jnp.roll(f, 1, axis=0)) / (LX / NX) ** 2
    along_y = (jnp.roll(f, -1, axis=1) - 2 * f + jnp.roll(f, 1, axis=1)) / (LY / NY) ** 2
    return along_x + along_y


def tendency(flow):
    """Advection and diffusion, before the pressure acts."""
    du = -flow.u * ddx(flow.u) - flow.v * ddy(flow.u) + VISCOSITY * laplacian(flow.u)
    dv = -flow.u * ddx(flow.v) - flow.v * ddy(flow.v) + VISCOSITY * laplacian(flow.v)
    return Flow(du, dv)


def project(flow):
    """Take away the gradient of the pressure, which leaves no divergence."""
    kx, ky = wave_numbers()
    u_hat, v_hat = jnp.fft.rfft2(flow.u), jnp.fft.rfft2(flow.v)
    squared = kx**2 + ky**2
    divergence = kx * u_hat + ky * v_hat
    pressure = divergence / jnp.where(squared > 0, squared, 1.0)
    return Flow(
        jnp.fft.irfft2(u_hat - kx * pressure, s=flow.u.shape),
        jnp.fft.irfft2(v_hat - ky * pressure, s=flow.v.shape),
    )


def advance(flow, change, dt):
    return jax.tree.map(lambda f, df: f + dt * df, flow, change)


def step(flow, dt):
    """The midpoint rule, projected at each stage."""
    middle = project(advance(flow, tendency(flow), 0.5 * dt))
    return project(advance(flow, tendency(middle), dt))


def kinetic_energy(flow):
    return 0.5 * jnp.mean(flow.u**2 + flow.v**2)


@jax.jit
def entry(flow):
    def body(flow, _):
        flow = step(flow, DT)
        return flow, kinetic_energy(flow)

    return jax.lax.scan(body, flow, length=STEPS)


def grid():
    x = jnp.arange(NX) * LX / NX
    y = jnp.arange(NY) * LY / NY
    return jnp.meshgrid(x, y, indexing="ij")


def inputs():
    """The Taylor-Green vortex."""
    x, y = grid()
    return (Flow(jnp.cos(x) * jnp.sin(y), -jnp.sin(x) * jnp.cos(y)),)


AXES = {"flow": Flow("x y", "x y")}


def spectral_divergence(flow):
    kx = np.fft.fftfreq(NX, LX / NX) * 2 * np.pi
    ky = np.fft.fftfreq(NY, LY / NY) * 2 * np.pi
    u_hat, v_hat = np.fft.fft2(flow.u), np.fft.fft2(flow.v)
    return np.fft.ifft2(1j * kx[:, None] * u_hat + 1j * ky[None, :] * v_hat).real


def check():
    (flow,) = inputs()
    # The vortex decays at a known rate, and the advection is balanced by the pressure.
    final, energies = entry(flow)
    decay = np.exp(-2 * VISCOSITY * DT * STEPS)
    np.testing.assert_allclose(final.u, flow.u * decay, atol=5e-4)
    np.testing.assert_allclose(final.v, flow.v * decay, atol=5e-4)
    times = DT * np.arange(1, STEPS + 1)
    np.testing.assert_allclose(energies, 0.25 * np.exp(-4 * VISCOSITY * times), rtol=1e-3)

    # Any flow becomes divergence-free, and one that is stays as it is.
    rng = np.random.default_rng(0)
    x, y = (np.asarray(a) for a in grid())
    waves = [(m, n) for m in range(-3, 4) for n in range(-3, 4)]
    u, v = (
        sum(rng.normal() * np.cos(m * x + n * y + rng.uniform(0, 6)) for m, n in waves)
        for _ in range(2)
    )
    projected = project(Flow(jnp.asarray(u, jnp.float32), jnp.asarray(v, jnp.float32)))
    assert np.max(np.abs(spectral_divergence(projected))) < 1e-3
    assert np.max(np.abs(spectral_divergence(Flow(u, v)))) > 1.0
    again = project(projected)
    np.testing.assert_allclose(again.u, projected.u, atol=1e-4)

    # Second order in time: against two half steps, half the step makes an eighth of the error.
    def error(dt):
        return float(jnp.abs(step(projected, dt).u - step(step(projected, dt / 2), dt / 2).u).max())

    projected = jax.tree.map(lambda f: 0.2 * f, projected)
    assert 6 < error(0.2) / error(0.1) < 10, (error(0.2), error(0.1))

    # The tendency of a vortex that is carried along is what it is by hand.
    moving = Flow(flow.u + 0.3, flow.v - 0.2)
    ux, uy = -np.sin(x) * np.sin(y), np.cos(x) * np.cos(y)
    exact = -np.asarray(moving.u) * ux - np.asarray(moving.v) * uy - 2 * VISCOSITY * flow.u
    np.testing.assert_allclose(tendency(moving).u, exact, atol=2.5e-2)
    vx, vy = -np.cos(x) * np.cos(y), np.sin(x) * np.sin(y)
    exact = -np.asarray(moving.u) * vx - np.asarray(moving.v) * vy - 2 * VISCOSITY * flow.v
    np.testing.assert_allclose(tendency(moving).v, exact, atol=2.5e-2)
