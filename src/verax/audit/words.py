"""What names usually mean, where a rule has to know that time is time.

Names add to evidence from the data flow. Where a rule holds names against each other (a flag
`train` that is handed on as `deterministic`), it is what is done with them that contradicts.
"""

from __future__ import annotations

import re
from functools import lru_cache

_SEQUENCE = {
    *("time", "t", "timestep", "timesteps", "step", "steps", "seq", "sequence", "horizon"),
    *("frame", "frames", "token", "tokens", "seqlen", "length", "rollout", "tick", "ticks"),
    *("hour", "hours", "day", "days", "week", "weeks", "month", "months", "year", "years"),
    *("visit", "visits"),
}
_BATCH = {
    *("batch", "b", "env", "envs", "environment", "environments", "agent", "agents", "player"),
    *("players", "example", "examples", "sample", "samples", "chain", "chains", "minibatch"),
    *("batchsize", "trajectory", "trajectories", "episode", "episodes", "device", "devices"),
    *("replica", "replicas", "worker", "workers", "actor", "actors", "particle", "particles"),
}
# Things of which each has a history of its own, while others weigh them against each other.
_SEPARATE = {
    *("sensor", "sensors", "series", "walker", "walkers", "robot", "robots", "clip", "clips"),
    *("seed", "seeds", "patient", "patients", "subject", "subjects", "user", "users", "member"),
    *("members", "task", "tasks", "mol", "molecule", "molecules", "video", "videos", "document"),
    *("documents", "sentence", "sentences", "policy", "policies", "utterance", "utterances"),
    *("speaker", "speakers", "recording", "recordings", "song", "songs", "prompt", "prompts"),
    *("dialogue", "dialogues", "track", "tracks", "vehicle", "vehicles", "car", "cars", "drone"),
    *("drones", "pedestrian", "pedestrians", "person", "persons", "people", "individual"),
    *("individuals", "animal", "animals", "mouse", "mice", "customer", "customers", "client"),
    *("clients", "account", "accounts", "household", "households", "store", "stores", "asset"),
    *("assets", "stock", "stocks", "path", "paths", "scenario", "scenarios", "simulation"),
    *("simulations", "realisation", "realisations", "realization", "realizations", "replicate"),
    *("replicates", "trial", "trials", "station", "stations", "electrode", "electrodes", "mic"),
    *("mics", "microphone", "microphones", "scene", "scenes", "image", "images", "graph", "graphs"),
    *("trace", "traces"),
}
_ENVIRONMENT = {
    "env",
    "envs",
    "environment",
    "environments",
    "actor",
    "actors",
    "worker",
    "workers",
}
_FEATURE = {
    *("feat", "feature", "features", "dim", "dims", "channel", "channels", "hid", "hidden"),
    *("embed", "embedding", "obs", "act", "action", "class", "classes", "unit", "units", "out"),
}
# Of attention: who asks, and what it chooses from.
_QUERY = {"query", "queries", "q"}
_KEY = {"key", "keys", "kv", "k"}
_WEIGHED = {
    *("particle", "particles", "sample", "samples", "chain", "chains", "agent", "agents"),
    *("trajectory", "trajectories", "player", "players"),
}
_EPISODE_END = {
    *("done", "dones", "terminal", "terminals", "terminated", "terminations", "termination"),
    *("truncated", "truncation", "truncations", "reset", "resets", "alive", "notdone"),
}
# The same things a step later or before.
_LATER = {"next", "prev", "previous", "after", "before", "new", "old"}
# They may be about anything else as well, so they count only beside a reset.
_OVER = {
    *("over", "end", "ended", "ends", "finish", "finished", "finishes", "stop", "stopped", "term"),
    *("dead", "died", "fell", "fallen", "failed", "crashed", "timeout", "expired", "complete"),
    *("completed", "terminate", "trunc", "last", "cut", "restart", "out", "closed", "lost", "won"),
}
_BEGINS = {"first", "firsts", "start", "starts", "begin", "begins", "boundary", "boundaries"}
_GOING_ON = {"alive", "running", "ongoing", "active", "cont", "continue", "open", "not", "notdone"}
_OBSERVATION = {"obs", "observation", "observations"}
_REWARD = {"reward", "rewards", "rew", "rews"}
_VALUE = {"value", "values", "vf", "vals", "critic", "baseline", "baselines"}
# Of two words each; both have to be there.
_EPISODE_END_PAIRS = ({"is", "last"}, {"is", "first"}, {"episode", "start"}, {"episode", "end"})


@lru_cache(maxsize=16384)
def words_of(name: str) -> tuple[str, ...]:
    """The words of an identifier or a path: `params['num_envs']` has params, num and envs."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return tuple(word.lower() for word in re.split(r"[^A-Za-z0-9]+|_", spaced) if word)


def are_twins(one: str, other: str) -> bool:
    """Whether one of two names is the other with a number, for a second axis of the same things."""
    return one in (_stem(other), other) or other == _stem(one)


def _stem(name: str) -> str:
    return re.sub(r"(_?\d+|')$", "", name)


@lru_cache(maxsize=4096)
def without_twins(names: tuple[str, ...], sizes: tuple[object, ...]) -> tuple[str, ...]:
    """The names of an array's axes, one for two of the same things: `state state2`, `state next`.

    A transition leads from states to states, and a covariance is one of states with states; who
    gives the second axis a name of its own only tells which of the two it is.
    """
    found = list(names)
    for at, name in enumerate(names):
        others = [it for it in names if it not in ("", "_", name)]
        alike = [it for it in others if sizes[names.index(it)] == sizes[at]]
        stem = _stem(name)
        own = [it for it in words_of(stem) if it not in _LATER]
        if stem != name and stem in alike:
            found[at] = stem
        elif len(own) < len(words_of(stem)):
            same = [it for it in alike if list(words_of(it)) == own]
            found[at] = same[0] if same else alike[0] if not own and len(alike) == 1 else name
    return tuple(found)


def is_plural(name: str) -> bool:
    """Whether a name is one for several things: `agents`, and not `pos`, `loss`, `bias`, `axis`."""
    return name.endswith("s") and not name.endswith(("ss", "us", "is", "os", "as"))


def is_sequence(name: str | None) -> bool:
    """Whether an axis of this name is walked in order."""
    return _any(name, _SEQUENCE)


def is_batch(name: str | None) -> bool:
    """Whether elements along an axis of this name are independent of each other."""
    return _any(name, _BATCH)


def is_separate(name: str | None) -> bool:
    """Whether no state passes from one element along an axis of this name to the next."""
    return _any(name, _BATCH) or _any(name, _SEPARATE)


def is_environment(name: str | None) -> bool:
    """Whether an axis of this name is one of simulations side by side."""
    return _any(name, _ENVIRONMENT)


def may_compete(name: str | None) -> bool:
    """Whether elements along an axis of this name are weighed against each other.

    They are independent, and then some are drawn again, or an average is taken of them.
    """
    return _any(name, _WEIGHED)


def is_feature(name: str | None) -> bool:
    """Whether an axis of this name holds the components of one thing."""
    return _any(name, _FEATURE)


def are_query_and_key(one: str | None, other: str | None) -> bool:
    """Whether the first of two axes asks, and the second is what its attention chooses from."""
    return _any(one, _QUERY) and _any(other, _KEY) and not (_any(one, _KEY) or _any(other, _QUERY))


@lru_cache(maxsize=4096)
def is_episode_end(name: str | None) -> bool:
    """Whether a value of this name says where an episode ends (or that it goes on)."""
    words = set(words_of(name or ""))
    return bool(words & _EPISODE_END) or any(pair <= words for pair in _EPISODE_END_PAIRS)


@lru_cache(maxsize=4096)
def may_be_episode_end(name: str | None) -> bool:
    """Whether a flag of this name, if it decides on a reset, may well be set at an end."""
    words = set(words_of(name or ""))
    return (is_episode_end(name) or bool(words & _OVER)) and words.isdisjoint(_GOING_ON)


@lru_cache(maxsize=4096)
def may_be_episode_boundary(name: str | None) -> bool:
    """Whether something of this name, scanned with what happens, may tell where episodes begin."""
    words = set(words_of(name or ""))
    return may_be_episode_end(name) or bool(words & _BEGINS)


@lru_cache(maxsize=4096)
def tells_beginning(name: str | None) -> bool:
    """Whether a flag of this name is set in the first step of an episode, not in the last."""
    return bool(set(words_of(name or "")) & (_BEGINS | {"reset", "resets"}))


@lru_cache(maxsize=4096)
def is_reward(name: str | None) -> bool:
    """Whether a value of this name is what an environment pays."""
    return _any(name, _REWARD)


@lru_cache(maxsize=4096)
def is_observation(name: str | None) -> bool:
    """Whether a value of this name is what an environment shows."""
    return _any(name, _OBSERVATION)


@lru_cache(maxsize=4096)
def is_value_estimate(name: str | None) -> bool:
    """Whether a value of this name estimates what is still to come."""
    return _any(name, _VALUE)


def _any(name: str | None, wanted: set[str]) -> bool:
    return bool(name) and any(word in wanted for word in words_of(name or ""))
