"""States that never change: pytree dataclasses, lenses into them, tools for trees.

This package imports nothing else of verax.
"""

from ._dataclass import dataclass as dataclass
from ._dataclass import field as field
from ._lens import Lens as Lens
from ._path_lens import PathLens as PathLens
from ._path_lens import lens as lens
from ._post_init import no_post_init as no_post_init
from ._post_init import skip_post_init_if_disabled as skip_post_init_if_disabled
