"""Which random key is which: identities of keys through a program, and what consumes them.

Every element of a key array has an identity (`Key`): an input, the i-th child of a split, what
`fold_in` makes of a key and a number, a lane of an array that is mapped over. Equal identities are
equal keys. Arrays of keys are arrays of identities, so that slicing, stacking and broadcasting keys
is slicing, stacking and broadcasting identities.
"""

from .analysis import Keys as Keys
from .identity import Clamped as Clamped
from .identity import Key as Key
from .identity import Use as Use
from .identity import is_typed as is_typed
