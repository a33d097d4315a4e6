"""Monte Carlo tree search (UCT) for tic-tac-toe, batched over positions with vmap."""

from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

CELLS = 9
LINES = np.array(
    [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
)
SIMULATIONS, EXPLORATION = 600, 1.0
NONE = -1


class Tree(NamedTuple):
    board: jax.Array  # (node, cell): 1 for the player to move, -1 for the other one
    parent: jax.Array  # (node,)
    children: jax.Array  # (node, action)
    visits: jax.Array  # (node,)
    total: jax.Array  # (node,): returns of the player to move
    ended: jax.Array  # (node,)
    used: jax.Array


def play(board, action):
    """The board after a move, as the other player sees it."""
    return -board.at[action].set(1)


def outcome(board):
    """Whether the game is over, and what it is worth to the player to move."""
    lost = (board[LINES] == -1).all(axis=-1).any()
    return lost | (board != 0).all(), jnp.where(lost, -1.0, 0.0)


def new_tree(board):
    nodes = SIMULATIONS + 1
    ended, _ = outcome(board)
    return Tree(
        board=jnp.zeros((nodes, CELLS), jnp.int8).at[0].set(board),
        parent=jnp.full(nodes, NONE),
        children=jnp.full((nodes, CELLS), NONE),
        visits=jnp.zeros(nodes, jnp.int32),
        total=jnp.zeros(nodes),
        ended=jnp.zeros(nodes, bool).at[0].set(ended),
        used=jnp.int32(1),
    )


def upper_bounds(tree, node):
    children = tree.children[node]
    visits = tree.visits[children]
    mean = -tree.total[children] / jnp.maximum(visits, 1)
    bonus = jnp.sqrt(jnp.log(tree.visits[node] + 1.0) / jnp.maximum(visits, 1))
    bounds = jnp.where(children == NONE, jnp.inf, mean + EXPLORATION * bonus)
    return jnp.where(tree.board[node] == 0, bounds, -jnp.inf)


def select(tree, key):
    """Walk down to a node that has ended, or to a move that was not tried."""

    def going_on(carry):
        node, action, _ = carry
        return ~tree.ended[node] & (tree.children[node, action] != NONE)

    def choose(node, key):
        key, tie_key = jax.random.split(key)
        bounds = upper_bounds(tree, node)
        noise = jax.random.uniform(tie_key, (CELLS,))
        return jnp.argmax(jnp.where(bounds == bounds.max(), noise, -1.0)), key

    def descend(carry):
        node, action, key = carry
        node = tree.children[node, action]
        action, key = choose(node, key)
        return node, action, key

    root = jnp.int32(0)
    action, key = choose(root, key)
    node, action, _ = jax.lax.while_loop(going_on, descend, (root, action, key))
    return node, action


def expand(tree, node, action):
    new = tree.used
    board = play(tree.board[node], action)
    ended, _ = outcome(board)
    grown = tree._replace(
        board=tree.board.at[new].set(board),
        parent=tree.parent.at[new].set(node),
        children=tree.children.at[node, action].set(new),
        ended=tree.ended.at[new].set(ended),
        used=new + 1,
    )
    stays = tree.ended[node]
    tree = jax.tree.map(lambda old, it: jnp.where(stays, old, it), tree, grown)
    return tree, jnp.where(stays, node, new)


def random_playout(board, key):
    """What random moves lead to, for the player to move on `board`."""

    def body(carry, key):
        board, sign, result, over = carry
        now_over, value = outcome(board)
        result = jnp.where(now_over & ~over, sign * value, result)
        over = over | now_over
        logits = jnp.where(board == 0, 0.0, -jnp.inf)
        action = jax.random.categorical(key, jnp.where(over, 0.0, logits))
        board = jnp.where(over, board, play(board, action))
        return (board, -sign, result, over), None

    init = (board, jnp.float32(1.0), jnp.float32(0.0), jnp.bool_(False))
    (_, _, result, _), _ = jax.lax.scan(body, init, jax.random.split(key, CELLS + 1))
    return result


def backup(tree, leaf, value):
    def body(carry):
        node, value, visits, total = carry
        visits = visits.at[node].add(1)
        total = total.at[node].add(value)
        return tree.parent[node], -value, visits, total

    _, _, visits, total = jax.lax.while_loop(
        lambda carry: carry[0] != NONE, body, (leaf, value, tree.visits, tree.total)
    )
    return tree._replace(visits=visits, total=total)


def search(board, key):
    def simulate(tree, key):
        select_key, playout_key = jax.random.split(key)
        node, action = select(tree, select_key)
        tree, leaf = expand(tree, node, action)
        value = random_playout(tree.board[leaf], playout_key)
        return backup(tree, leaf, value), None

    tree, _ = jax.lax.scan(simulate, new_tree(board), jax.random.split(key, SIMULATIONS))
    children = tree.children[0]
    visits = jnp.where(children == NONE, 0, tree.visits[children])
    values = -tree.total[children] / jnp.maximum(visits, 1)
    return jnp.argmax(visits), visits, jnp.where(visits > 0, values, -jnp.inf)


@jax.jit
def entry(boards, keys):
    return jax.vmap(search)(boards, keys)


def positions(count, seed):
    """Positions after three to five random moves, in which the game goes on."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        board = np.zeros(CELLS, np.int8)
        for cell in rng.permutation(CELLS)[: rng.integers(3, 6)]:
            board[cell] = 1
            board = -board
        if not any(abs(board[line].sum()) == 3 for line in LINES):
            found.append(board)
    return np.stack(found)


def inputs():
    boards = jnp.asarray(positions(6, seed=0))
    return boards, jax.random.split(jax.random.key(0), 6)


AXES = {"boards": "batch cell", "keys": "batch"}


@cache
def best_value(board):
    """Negamax without pruning."""
    if any(all(board[cell] == -1 for cell in line) for line in LINES):
        return -1
    moves = [cell for cell in range(CELLS) if board[cell] == 0]
    return max((-best_value(after(board, cell)) for cell in moves), default=0)


def after(board, cell):
    return tuple(-(1 if at == cell else value) for at, value in enumerate(board))


def check():
    boards = positions(24, seed=1)
    actions, visits, values = entry(
        jnp.asarray(boards), jax.random.split(jax.random.key(1), len(boards))
    )
    assert ((visits > 0) == (boards == 0)).all()
    assert (visits.sum(axis=1) == SIMULATIONS).all()
    errors = []
    for board, action, row in zip(boards.tolist(), actions.tolist(), values, strict=True):
        exact = best_value(tuple(board))
        assert -best_value(after(tuple(board), action)) == exact, (board, action)
        errors.append(abs(float(row[action]) - exact))
    assert np.mean(errors) < 0.2, errors
