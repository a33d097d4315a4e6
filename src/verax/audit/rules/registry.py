"""The list of all rules. A rule that is not in it does not exist.

A rule's module imports nothing of JAX when it is loaded, so that `verax rules` is quick.
"""

from __future__ import annotations

from difflib import get_close_matches

from . import axis, dataflow, env, grad, jit, prng, pytree, scan, vmap
from ._rule import FAMILIES, Rule

# Each family lists its own rules, by code.
_RULES: tuple[Rule, ...] = tuple(
    rule
    for family in (dataflow, axis, scan, vmap, jit, pytree, grad, prng, env)
    for rule in family.RULES
)


class UnknownRuleError(LookupError):
    """No rule has this code or name."""

    def __init__(self, wanted: str, close: tuple[str, ...]):
        self.wanted = wanted
        self.close = close
        super().__init__(wanted, close)

    def __str__(self) -> str:
        hint = f"did you mean {' or '.join(self.close)}?" if self.close else "see `verax rules`"
        return f"there is no rule {self.wanted!r}; {hint}"


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by family and code."""
    return _RULES


def find(code_or_name: str) -> Rule:
    """The rule with this code (`AX001`, in either case) or name (`key-reused`)."""
    wanted = code_or_name.strip()
    for rule in all_rules():
        if wanted.upper() == rule.code or wanted.lower() == rule.name:
            return rule
    raise UnknownRuleError(wanted, _close(wanted))


def code_prefix(selector: str) -> str:
    """What the codes begin with that a selector means.

    A selector is a code, the beginning of codes (`AX`, `AX0`), a rule's name, or a family's.
    """
    wanted = selector.strip()
    if wanted.lower() in FAMILIES:
        return FAMILIES[wanted.lower()]
    codes = [*FAMILIES.values(), *(rule.code for rule in all_rules())]
    if wanted and any(code.startswith(wanted.upper()) for code in codes):
        return wanted.upper()
    return find(wanted).code


def _close(wanted: str) -> tuple[str, ...]:
    known = [*FAMILIES, *FAMILIES.values()]
    known += [text for rule in all_rules() for text in (rule.code, rule.name)]
    by_lower = {text.lower(): text for text in known}
    return tuple(by_lower[text] for text in get_close_matches(wanted.lower(), by_lower, n=3))
