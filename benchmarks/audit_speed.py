"""How long an audit takes, next to `jax.make_jaxpr` of the same function.

The audit includes its own tracing. Caches are cleared before every call, so that both trace all
that they need.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import verax

from .timing import Claim, Effort, Outcome, race

WIDTH, HEADS, VOCABULARY = 16, 2, 32
PPO = Path(__file__).parents[1] / "tests/audit/programs/classics/ppo.py"


def normalised(x: Any, scale: Any, shift: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt(x.var(axis=-1, keepdims=True) + 1e-5) * scale + shift


def block(params: Any, x: Any, mask: Any) -> Any:
    h = normalised(x, params["scale1"], params["shift1"])
    q, k, v = (jnp.einsum("btd,dhk->bthk", h, params[name]) for name in "qkv")
    scores = jnp.einsum("bthk,bshk->bhts", q, k) / jnp.sqrt(WIDTH // HEADS)
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    x = x + jnp.einsum("bhts,bshk,hkd->btd", weights, v, params["out"])
    h = normalised(x, params["scale2"], params["shift2"])
    return x + jax.nn.gelu(h @ params["up"]) @ params["down"]


def loss(params: Any, tokens: Any) -> Any:
    x = params["embedding"][tokens[:, :-1]]
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    for layer in params["layers"]:
        x = block(layer, x, mask)
    log_probs = jax.nn.log_softmax(x @ params["embedding"].T)
    return -jnp.take_along_axis(log_probs, tokens[:, 1:, None], axis=-1).mean()


def train_step(params: Any, tokens: Any) -> Any:
    value, grads = jax.value_and_grad(loss)(params, tokens)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value


def transformer(layers: int) -> tuple[Any, Any]:
    def array(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    per_head = (HEADS, WIDTH // HEADS)
    layer = {
        **{name: array(WIDTH) for name in ("scale1", "shift1", "scale2", "shift2")},
        **{name: array(WIDTH, *per_head) for name in "qkv"},
        "out": array(*per_head, WIDTH),
        "up": array(WIDTH, 4 * WIDTH),
        "down": array(4 * WIDTH, WIDTH),
    }
    params = {"embedding": array(VOCABULARY, WIDTH), "layers": [layer] * layers}
    return params, jax.ShapeDtypeStruct((2, 9), jnp.int32)


def contestants(function: Callable[..., Any], args: Any) -> dict[str, Callable[[], Any]]:
    def traced() -> Any:
        jax.clear_caches()
        return jax.make_jaxpr(jax.jit(function))(*args)

    def audited() -> Any:
        jax.clear_caches()
        return verax.audit(jax.jit(function), *args)

    return {"make_jaxpr": traced, "audit": audited}


def run(effort: Effort) -> Iterator[Outcome]:
    claims = (Claim("audit", "make_jaxpr", 2.0),)
    for layers in (2,) if effort.quick else (6, 24, 96):
        name = f"transformer's training step, {layers} layers"
        yield race(
            name, contestants(train_step, transformer(layers)), effort, claims=claims, rounds=7
        )
    if importlib.util.find_spec("optax") is not None:
        spec = importlib.util.spec_from_file_location("ppo", PPO)
        assert spec is not None and spec.loader is not None  # noqa: PT018
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function = module.entry.__wrapped__
        yield race(
            "PPO update", contestants(function, module.inputs()), effort, claims=claims, rounds=7
        )
