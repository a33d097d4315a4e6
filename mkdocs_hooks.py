"""What the documentation's site takes from the package when it is made."""

from typing import Any

from verax.audit.render import rules
from verax.audit.rules.registry import all_rules

MARK = "<!-- rules -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page, with the documentation of all rules in the place of the mark."""
    return markdown.replace(MARK, rules.to_markdown(all_rules())) if MARK in markdown else markdown
