"""Graph neural network: message passing over an edge list, trained to classify nodes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES, EDGES, FEATURES, HIDDEN, CLASSES, LAYERS = 24, 70, 5, 16, 3, 2
OPTIMISER = optax.adam(1e-2)


class Graph(NamedTuple):
    nodes: jax.Array  # (node, feature)
    edges: jax.Array  # (edge,): weights
    senders: jax.Array  # (edge,)
    receivers: jax.Array  # (edge,)


def dense(params, x):
    return x @ params["w"] + params["b"]


def layer(params, graph, nodes):
    """Each node hears the mean of its neighbours' messages."""
    messages = jax.nn.relu(dense(params["message"], nodes))[graph.senders] * graph.edges[:, None]
    total = jax.ops.segment_sum(messages, graph.receivers, num_segments=nodes.shape[0])
    degree = jax.ops.segment_sum(
        jnp.ones_like(graph.edges), graph.receivers, num_segments=nodes.shape[0]
    )
    heard = total / jnp.maximum(degree, 1.0)[:, None]
    return jax.nn.relu(dense(params["update"], jnp.concatenate([nodes, heard], axis=-1)))


def apply(params, graph):
    nodes = dense(params["embed"], graph.nodes)
    for layer_params in params["layers"]:
        nodes = nodes + layer(layer_params, graph, nodes)
    return dense(params["head"], nodes)


def loss_fn(params, graph, labels, mask):
    logits = apply(params, graph)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
    accuracy = jnp.sum((logits.argmax(axis=-1) == labels) * mask) / mask.sum()
    return jnp.sum(losses * mask) / mask.sum(), accuracy


@jax.jit
def entry(params, opt_state, graph, labels, mask):
    (loss, accuracy), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, graph, labels, mask)
    updates, opt_state = OPTIMISER.update(grads, opt_state, params)
    return optax.apply_updates(params, updates), opt_state, loss, accuracy


def init_dense(key, fan_in, fan_out):
    w = jax.random.normal(key, (fan_in, fan_out)) / jnp.sqrt(fan_in)
    return {"w": w, "b": jnp.zeros(fan_out)}


def init(key):
    embed_key, head_key, *layer_keys = jax.random.split(key, 2 + LAYERS)
    layers = []
    for layer_key in layer_keys:
        message_key, update_key = jax.random.split(layer_key)
        layers.append(
            {
                "message": init_dense(message_key, HIDDEN, HIDDEN),
                "update": init_dense(update_key, 2 * HIDDEN, HIDDEN),
            }
        )
    return {
        "embed": init_dense(embed_key, FEATURES, HIDDEN),
        "layers": layers,
        "head": init_dense(head_key, HIDDEN, CLASSES),
    }


def inputs():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, size=NODES)
    senders = rng.integers(0, NODES, size=EDGES)
    # Most edges join nodes of one class, so that neighbours say something.
    same = [rng.choice(np.flatnonzero(labels == labels[s])) for s in senders]
    receivers = np.where(rng.random(EDGES) < 0.8, same, rng.integers(0, NODES, size=EDGES))
    features = np.eye(FEATURES)[labels] + 0.8 * rng.normal(size=(NODES, FEATURES))
    graph = Graph(
        nodes=jnp.asarray(features, jnp.float32),
        edges=jnp.asarray(rng.uniform(0.5, 1.5, size=EDGES), jnp.float32),
        senders=jnp.asarray(senders, jnp.int32),
        receivers=jnp.asarray(receivers, jnp.int32),
    )
    params = init(jax.random.key(0))
    mask = jnp.asarray(rng.random(NODES) < 0.6, jnp.float32)
    return params, OPTIMISER.init(params), graph, jnp.asarray(labels, jnp.int32), mask


AXES = {
    "graph": Graph("node feature", "edge", "edge", "edge"),
    "labels": "node",
    "mask": "node",
}


def reference(params, graph):
    """The same network with a dense adjacency matrix, in NumPy."""
    params = jax.tree.map(np.asarray, params)
    adjacency, degree = np.zeros((NODES, NODES)), np.zeros(NODES)
    for weight, sender, receiver in zip(*map(np.asarray, graph[1:]), strict=True):
        adjacency[receiver, sender] += weight
        degree[receiver] += 1
    nodes = dense(params["embed"], np.asarray(graph.nodes))
    for p in params["layers"]:
        messages = np.maximum(dense(p["message"], nodes), 0)
        heard = adjacency @ messages / np.maximum(degree, 1)[:, None]
        update = dense(p["update"], np.concatenate([nodes, heard], axis=-1))
        nodes = nodes + np.maximum(update, 0)
    return dense(params["head"], nodes)


def check():
    params, opt_state, graph, labels, mask = inputs()
    logits = apply(params, graph)
    np.testing.assert_allclose(logits, reference(params, graph), atol=1e-4)

    # The loss looks at the nodes of the mask alone.
    log_probs = np.asarray(jax.nn.log_softmax(logits), np.float64)
    chosen = np.asarray(mask) > 0
    exact = -log_probs[np.arange(NODES), np.asarray(labels)][chosen].mean()
    loss, _ = loss_fn(params, graph, labels, mask)
    np.testing.assert_allclose(loss, exact, rtol=1e-5)

    losses = []
    for _ in range(200):
        params, opt_state, loss, accuracy = entry(params, opt_state, graph, labels, mask)
        losses.append(float(loss))
    assert losses[-1] < 0.1 * losses[0], losses[::20]
    assert accuracy == 1.0, accuracy
