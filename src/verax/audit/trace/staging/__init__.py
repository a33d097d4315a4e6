"""What stands in for JAX's transformations while the auditor traces.

Each function here gets the original first, then the arguments of the call.
"""

from .derivatives import jvp as jvp
from .derivatives import linearize as linearize
from .derivatives import vjp as vjp
from .loops import scan as scan
from .loops import while_loop as while_loop
from .maps import batch as batch
