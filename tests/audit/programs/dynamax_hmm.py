"""A step of expectation maximisation of a dynamax hidden Markov model on a batch of sequences."""

import jax
import jax.numpy as jnp
from dynamax.hidden_markov_model import DiagonalGaussianHMM

STATES, FEATURES = 3, 2
HMM = DiagonalGaussianHMM(STATES, FEATURES)
START, PROPERTIES = HMM.initialize(
    jax.random.PRNGKey(0),
    emission_means=jnp.linspace(-1.0, 1.0, STATES)[:, None] * jnp.ones(FEATURES),
    emission_scale_diags=jnp.ones((STATES, FEATURES)),
)


@jax.jit
def entry(params, m_step_state, emissions):
    statistics, log_likelihoods = jax.vmap(lambda it: HMM.e_step(params, it))(emissions)
    log_joint = HMM.log_prior(params) + log_likelihoods.sum()
    params, m_step_state = HMM.m_step(params, PROPERTIES, statistics, m_step_state)
    posterior = jax.vmap(lambda it: HMM.smoother(params, it))(emissions)
    return params, m_step_state, log_joint, posterior.smoothed_probs


def inputs():
    emissions = jax.random.normal(jax.random.key(1), (4, 7, FEATURES))
    return START, HMM.initialize_m_step_state(START, PROPERTIES), emissions


AXES = {"emissions": "sequence time feature"}
