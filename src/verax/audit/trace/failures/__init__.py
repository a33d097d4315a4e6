"""Why a program could not be traced: an exception read as facts.

JAX raises with long messages that hold the facts as text. One table recognises them; what it does
not know is of the kind "error". The frames of the traceback tell where in the user's code it
happened, and what the names in that line were.
"""

from .failure import Failure as Failure
from .failure import failure_of as failure_of
