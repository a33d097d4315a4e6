"""A language model of padded sequences in equinox: an embedding, a GRU over time, a masked loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

PAD, VOCABULARY, WIDTH = 0, 8, 24
OPTIMISER = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(1e-2))


class LanguageModel(eqx.Module):
    embedding: eqx.nn.Embedding
    cell: eqx.nn.GRUCell
    head: eqx.nn.Linear

    def __init__(self, key):
        embedding_key, cell_key, head_key = jax.random.split(key, 3)
        self.embedding = eqx.nn.Embedding(VOCABULARY, 12, key=embedding_key)
        self.cell = eqx.nn.GRUCell(12, WIDTH, key=cell_key)
        self.head = eqx.nn.Linear(WIDTH, VOCABULARY, key=head_key)

    def __call__(self, tokens):
        """The logits of what follows each token of one sequence."""

        def step(hidden, x):
            hidden = self.cell(x, hidden)
            return hidden, hidden

        embedded = jax.vmap(self.embedding)(tokens)
        _, hidden = jax.lax.scan(step, jnp.zeros(self.cell.hidden_size), embedded)
        return jax.vmap(self.head)(hidden)


def loss_fn(model, tokens, lengths):
    before, after = tokens[:, :-1], tokens[:, 1:]
    logits = jax.vmap(model)(before)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, after)
    mask = jnp.arange(after.shape[1]) < lengths[:, None] - 1
    return jnp.sum(losses * mask) / jnp.sum(mask)


@eqx.filter_jit
def entry(model, opt_state, tokens, lengths):
    loss, grads = eqx.filter_value_and_grad(loss_fn)(model, tokens, lengths)
    updates, opt_state = OPTIMISER.update(grads, opt_state)
    return eqx.apply_updates(model, updates), opt_state, loss


def counting(rng, batch, time):
    """Sequences that count up in steps of 1, 2 or 3, which only their past tells."""
    lengths = rng.integers(4, time + 1, batch)
    start = rng.integers(0, VOCABULARY - 1, (batch, 1))
    stride = rng.integers(1, 4, (batch, 1))
    tokens = 1 + (start + stride * np.arange(time)) % (VOCABULARY - 1)
    tokens[np.arange(time) >= lengths[:, None]] = PAD
    return jnp.asarray(tokens, jnp.int32), jnp.asarray(lengths, jnp.int32)


def inputs():
    model = LanguageModel(jax.random.key(0))
    opt_state = OPTIMISER.init(eqx.filter(model, eqx.is_inexact_array))
    return model, opt_state, *counting(np.random.default_rng(0), 5, 11)


AXES = {"tokens": "batch time", "lengths": "batch"}


def by_hand(model, tokens):
    """The logits, and the GRU's equations one after the other."""

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    cell = jax.tree.map(np.asarray, model.cell)
    hidden, logits = np.zeros(WIDTH), []
    for token in np.asarray(tokens):
        given = np.split(cell.weight_ih @ np.asarray(model.embedding.weight)[token] + cell.bias, 3)
        kept = np.split(cell.weight_hh @ hidden, 3)
        reset, update = sigmoid(given[0] + kept[0]), sigmoid(given[1] + kept[1])
        new = np.tanh(given[2] + reset * (kept[2] + cell.bias_n))
        hidden = new + update * (hidden - new)
        logits.append(np.asarray(model.head.weight) @ hidden + np.asarray(model.head.bias))
    return np.array(logits)


def check():
    rng = np.random.default_rng(1)
    model, opt_state, tokens, lengths = inputs()
    np.testing.assert_allclose(model(tokens[0]), by_hand(model, tokens[0]), atol=1e-5)

    total, count = 0.0, 0
    for row, length in zip(np.asarray(tokens), np.asarray(lengths), strict=True):
        logits = by_hand(model, row[: length - 1])
        log_probs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
        total -= log_probs[np.arange(length - 1), row[1:length]].sum()
        count += length - 1
    np.testing.assert_allclose(loss_fn(model, tokens, lengths), total / count, rtol=1e-4)

    for _ in range(200):
        model, opt_state, loss = entry(model, opt_state, *counting(rng, 32, 11))
    # Only the second token of a sequence is a guess, between three.
    assert loss < 0.3, loss
