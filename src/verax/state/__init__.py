"""States that never change: pytree dataclasses, lenses into them, tools for trees.

This package imports nothing else of verax.
"""

from ._bound_lens import BoundLens as BoundLens
from ._bound_lens import bind as bind
from ._composed_lenses import MergedLens as MergedLens
from ._composed_lenses import NestedLens as NestedLens
from ._dataclass import dataclass as dataclass
from ._dataclass import field as field
from ._index_lens import IndexLens as IndexLens
from ._key_chain import key_chain as key_chain
from ._lens import Lens as Lens
from ._lens_fields import HasLensFields as HasLensFields
from ._lens_fields import LensField as LensField
from ._lens_fields import lens_field as lens_field
from ._lens_fields import lens_property as lens_property
from ._numerics import isin as isin
from ._numerics import kahan_summation as kahan_summation
from ._path_lens import PathLens as PathLens
from ._path_lens import lens as lens
from ._path_text import path_of as path_of
from ._post_init import no_post_init as no_post_init
from ._post_init import skip_post_init_if_disabled as skip_post_init_if_disabled
from ._scatter import HasScatterArgs as HasScatterArgs
from ._scatter import ScatterArgs as ScatterArgs
from ._scatter import tree_scatter_set as tree_scatter_set
from ._special_lenses import ConstantLens as ConstantLens
from ._special_lenses import IdentityLens as IdentityLens
from ._special_lenses import LambdaLens as LambdaLens
from ._tree_arrays import tree_concat as tree_concat
from ._tree_arrays import tree_stack as tree_stack
from ._tree_arrays import tree_where_broadcast_last as tree_where_broadcast_last
from ._tree_arrays import tree_zeros_like as tree_zeros_like
from ._tree_map import SupportsTreeMatch as SupportsTreeMatch
from ._tree_map import tree_map as tree_map
from ._tree_structure import PyTreeDef as PyTreeDef
from ._tree_structure import tree_structure as tree_structure
from ._view import View as View
from ._view import view as view
from ._where_lenses import WhereLens as WhereLens
from ._where_lenses import all_isinstance_lens as all_isinstance_lens
from ._where_lenses import all_where_lens as all_where_lens
