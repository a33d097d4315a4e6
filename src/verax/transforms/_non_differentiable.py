"""Values that no derivative may pass through."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

import jax

T = TypeVar("T")


def non_differentiable(x: T) -> T:
    """Give back `x`; refuse to be differentiated.

    For a value whose derivative would be wrong without a sign of it: the result of a search, of
    rounding, of a table. Unlike `jax.lax.stop_gradient`, which makes the derivative zero, this
    makes it an error. A derivative with respect to something else is none of its business.

    Example:
        >>> def energy(x, table):
        ...     return x**2 + non_differentiable(table)
        >>> float(jax.grad(energy)(3.0, 1.0))
        6.0
        >>> try:
        ...     jax.grad(energy, argnums=1)(3.0, 1.0)
        ... except NotImplementedError as error:
        ...     print(str(error).split(",")[0])
        a derivative reached float32[]

    Raises:
        NotImplementedError: when a derivative with respect to `x` is taken.
    """
    return _identity(x)


@jax.custom_jvp
def _identity(x: Any) -> Any:
    return x


@_identity.defjvp
def _refuse(primals: tuple[Any], tangents: tuple[Any]) -> NoReturn:
    del tangents
    marked = ", ".join(
        f"{jax.tree_util.keystr(path)} {jax.typeof(leaf).str_short()}".strip()
        for path, leaf in jax.tree_util.tree_leaves_with_path(primals[0])
    )
    raise NotImplementedError(
        f"a derivative reached {marked}, which is marked non_differentiable. Differentiate with "
        f"respect to something else, or use jax.lax.stop_gradient where the derivative shall be "
        f"zero."
    )
