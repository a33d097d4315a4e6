# pyright: reportUnnecessaryTypeIgnoreComment=true
"""Type checkers see the lazy names, and only those."""

from types import ModuleType
from typing import assert_type

import verax

assert_type(verax.__version__, str)

rooms: list[ModuleType] = [verax.audit, verax.channel, verax.runtime, verax.state, verax.transforms]

# The comment itself is an error where there is nothing to ignore.
print(verax.no_such_name)  # pyright: ignore[reportAttributeAccessIssue]
