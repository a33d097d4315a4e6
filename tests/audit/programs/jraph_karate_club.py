"""A training step of the graph network in jraph's own example of a karate club."""

import haiku as hk
import jax
import optax
from jraph.examples.zacharys_karate_club import get_zacharys_karate_club, network_definition

NETWORK = hk.without_apply_rng(hk.transform(network_definition))
OPTIMISER = optax.adam(1e-2)


@jax.jit
def entry(params, opt_state, graph):
    def loss_fn(params):
        log_probs = jax.nn.log_softmax(NETWORK.apply(params, graph))
        # Only the sides of the two who quarrelled are known.
        return -(log_probs[0, 0] + log_probs[33, 1])

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def inputs():
    graph = get_zacharys_karate_club()
    params = NETWORK.init(jax.random.key(0), graph)
    return params, OPTIMISER.init(params), graph
