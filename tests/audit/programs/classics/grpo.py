"""Group relative policy optimisation of a recurrent language model on a counting task."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

LETTERS, MOST, LENGTH = 4, 3, 5
EOS, BOS = LETTERS, LETTERS + 1
VOCABULARY = LETTERS + 2
PROMPTS, GROUP, EPOCHS = 12, 8, 2
CLIP, KL_COEF = 0.2, 0.01
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(4e-3, weight_decay=1e-4))


class Batch(NamedTuple):
    prompts: jax.Array  # (sample, 2): which letter, and how often
    tokens: jax.Array  # (sample, time)
    mask: jax.Array  # (sample, time): 1 up to the end of the sequence, and there
    log_probs: jax.Array  # (sample, time): of the policy that sampled
    advantages: jax.Array  # (sample,)


class Policy(eqx.Module):
    letters: eqx.nn.Embedding
    counts: eqx.nn.Embedding
    tokens: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, width, key):
        keys = jax.random.split(key, 5)
        self.letters = eqx.nn.Embedding(LETTERS, width, key=keys[0])
        self.counts = eqx.nn.Embedding(MOST, width, key=keys[1])
        self.tokens = eqx.nn.Embedding(VOCABULARY, width, key=keys[2])
        self.cell = eqx.nn.GRUCell(width, width, key=keys[3])
        self.head = eqx.nn.Linear(width, VOCABULARY, key=keys[4])

    def start(self, prompt):
        return jnp.tanh(self.letters(prompt[0]) + self.counts(prompt[1]))

    def step(self, hidden, token):
        hidden = self.cell(self.tokens(token), hidden)
        return hidden, self.head(hidden)

    def log_probs(self, prompt, tokens):
        """The log-probability of each token, given those before it."""
        previous = jnp.concatenate([jnp.array([BOS]), tokens[:-1]])

        def body(hidden, token):
            return self.step(hidden, token)

        _, logits = jax.lax.scan(body, self.start(prompt), previous)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, None], axis=-1)
        return picked[:, 0]


def sample(policy, prompt, key):
    def body(carry, key):
        hidden, token, finished = carry
        hidden, logits = policy.step(hidden, token)
        token = jnp.where(finished, EOS, jax.random.categorical(key, logits))
        log_prob = jax.nn.log_softmax(logits)[token]
        return (hidden, token, finished | (token == EOS)), (token, log_prob, ~finished)

    init = (policy.start(prompt), jnp.int32(BOS), jnp.bool_(False))
    _, (tokens, log_probs, mask) = jax.lax.scan(body, init, jax.random.split(key, LENGTH))
    return tokens, log_probs, mask.astype(jnp.float32)


def reward_of(prompt, tokens):
    """One for the letter as often as asked for, then the end; a part of it for a part."""
    position = jnp.arange(LENGTH)
    count = prompt[1] + 1
    wanted = jnp.where(position < count, prompt[0], EOS)
    relevant = position <= count
    correct = ((tokens == wanted) & relevant).sum() / relevant.sum()
    exact = ((tokens == wanted) | ~relevant).all()
    return 0.5 * correct + 0.5 * exact


def group_advantages(rewards):
    """Rewards of (prompt, sample), relative to the other samples of the same prompt."""
    mean = rewards.mean(axis=1, keepdims=True)
    std = rewards.std(axis=1, keepdims=True)
    return (rewards - mean) / (std + 1e-4)


def loss_fn(policy, reference, batch):
    log_probs = jax.vmap(policy.log_probs)(batch.prompts, batch.tokens)
    ratio = jnp.exp(log_probs - batch.log_probs)
    advantages = batch.advantages[:, None]
    surrogate = jnp.minimum(ratio * advantages, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantages)
    reference_log_probs = jax.vmap(reference.log_probs)(batch.prompts, batch.tokens)
    difference = reference_log_probs - log_probs
    kl = jnp.exp(difference) - difference - 1.0
    objective = surrogate - KL_COEF * kl
    per_sample = (objective * batch.mask).sum(axis=1) / batch.mask.sum(axis=1)
    return -per_sample.mean(), (kl * batch.mask).sum() / batch.mask.sum()


@eqx.filter_jit
def entry(policy, reference, opt_state, prompts, key):
    keys = jax.random.split(key, (PROMPTS, GROUP))
    sample_group = jax.vmap(sample, in_axes=(None, None, 0))
    tokens, log_probs, mask = jax.vmap(sample_group, in_axes=(None, 0, 0))(policy, prompts, keys)
    rewards = jax.vmap(jax.vmap(reward_of, in_axes=(None, 0)))(prompts, tokens)
    advantages = group_advantages(rewards)

    batch = Batch(
        prompts=jnp.repeat(prompts, GROUP, axis=0),
        tokens=tokens.reshape(-1, LENGTH),
        mask=mask.reshape(-1, LENGTH),
        log_probs=log_probs.reshape(-1, LENGTH),
        advantages=advantages.reshape(-1),
    )
    for _ in range(EPOCHS):
        (loss, kl), grads = eqx.filter_value_and_grad(loss_fn, has_aux=True)(
            policy, reference, batch
        )
        updates, opt_state = OPTIMISER.update(
            grads, opt_state, eqx.filter(policy, eqx.is_inexact_array)
        )
        policy = eqx.apply_updates(policy, updates)
    metrics = {"loss": loss, "kl": kl, "reward": rewards.mean(), "length": mask.sum(-1).mean()}
    return policy, opt_state, metrics


def all_prompts():
    """Each letter, with each count."""
    letters, counts = np.divmod(np.arange(PROMPTS), MOST)
    return jnp.asarray(np.stack([letters, counts], axis=1), jnp.int32)


def inputs():
    policy = Policy(24, jax.random.key(0))
    opt_state = OPTIMISER.init(eqx.filter(policy, eqx.is_inexact_array))
    return policy, policy, opt_state, all_prompts(), jax.random.key(1)


AXES = {"prompts": "prompt _"}


def check():
    rewards = np.random.default_rng(0).random((5, 4)).astype(np.float32)
    expected = [[(r - np.mean(row)) / (np.std(row) + 1e-4) for r in row] for row in rewards]
    np.testing.assert_allclose(group_advantages(rewards), expected, rtol=1e-4, atol=1e-5)

    policy, reference, opt_state, prompts, key = inputs()
    tokens, log_probs, mask = sample(policy, prompts[5], jax.random.key(3))
    np.testing.assert_allclose(policy.log_probs(prompts[5], tokens), log_probs, rtol=1e-4)
    ends = np.flatnonzero(tokens == EOS)
    assert mask.sum() == (ends[0] + 1 if len(ends) else LENGTH)
    assert reward_of(jnp.array([2, 1]), jnp.array([2, 2, EOS, EOS, EOS])) == 1.0
    assert reward_of(jnp.array([2, 1]), jnp.array([2, 2, 2, EOS, EOS])) < 0.5

    history = []
    for step_key in jax.random.split(key, 120):
        policy, opt_state, metrics = entry(policy, reference, opt_state, prompts, step_key)
        history.append(metrics)
    reward = np.array([metrics["reward"] for metrics in history])
    length = np.array([metrics["length"] for metrics in history])
    assert reward[:5].mean() < 0.3, reward[:5]
    assert reward[-10:].mean() > 0.9, reward[-10:]
    np.testing.assert_allclose(length[-10:].mean(), (2 + 3 + 4) / 3, atol=0.3)
