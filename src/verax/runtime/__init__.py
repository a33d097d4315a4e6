"""Check a computation while it runs; repair and retry when a check fails."""

from .assertion import check_assertions as check_assertions
from .assertion import runtime_assert as runtime_assert
from .assertion import with_runtime_assertions as with_runtime_assertions
from .laws import FIRST as FIRST
from .laws import LARGEST as LARGEST
from .laws import Law as Law
from .outcome import InspectedWhileTracingError as InspectedWhileTracingError
from .outcome import RuntimeAssertion as RuntimeAssertion
from .propagate import Propagation as Propagation
from .propagate import Repair as Repair
from .propagate import RetryLimitError as RetryLimitError
from .propagate import propagate as propagate
from .propagate import propagate_and_fix as propagate_and_fix
from .result import Result as Result
from .result import as_result_function as as_result_function
