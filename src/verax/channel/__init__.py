"""Side channels: bring values out of compiled code next to the result.

A channel is defined once (`Channel`), emitted into anywhere (`emit`), and read by a
transformation (`collect`). Bare, a program with emissions is the program without them.
"""

from jax.extend.core import Primitive as _Primitive

from . import _branches, _calls, _derivatives, _devices, _hoist, _loops
from ._calls import Call as Call
from ._channel import Channel as Channel
from ._channel import Fold as Fold
from ._channel import Query as Query
from ._channel import Site as Site
from ._channel import Stack as Stack
from ._channel import Visit as Visit
from ._channel import ask as ask
from ._channel import caller as caller
from ._channel import emit as emit
from ._channel import is_recording as is_recording
from ._channel import recording as recording
from ._collect import Emission as Emission
from ._collect import collect as collect
from ._collector import HANDLERS as _HANDLERS
from ._collector import Collector as Collector
from ._collector import Handler as Handler
from ._collector import OnUnknown as OnUnknown
from ._collector import Scope as Scope
from ._collector import UnknownPrimitiveError as UnknownPrimitiveError
from ._collector import evaluate as evaluate
from ._contents import Spec as Spec

# These modules register handlers and rules; nothing is taken from them by name.
del _branches, _calls, _derivatives, _devices, _hoist, _loops


def register(primitive: _Primitive, handler: Handler) -> None:
    """Say how payloads leave the programs that a primitive holds."""
    _HANDLERS[primitive] = handler
