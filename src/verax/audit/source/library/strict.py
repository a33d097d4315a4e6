"""Functions of JAX that take arrays and numbers only, where NumPy would convert a list."""

from __future__ import annotations

_OF_ONE = {
    "jax.numpy": "abs absolute all amax amin angle any arccos arccosh arcsin arcsinh arctan "
    "arctanh argmax argmin argsort argwhere around broadcast_to cbrt ceil conj cos cosh "
    "count_nonzero cumprod cumsum deg2rad diag diagonal diff exp exp2 expand_dims expm1 "
    "flatnonzero flip fliplr flipud floor imag isfinite isinf isnan log log10 log1p log2 "
    "logical_not max mean median min nan_to_num nanmax nanmean nanmedian nanmin nanprod nanstd "
    "nansum nanvar negative nonzero pad percentile prod ptp quantile rad2deg ravel real "
    "reciprocal repeat reshape rint roll rot90 round sign sin sinh sort sqrt square squeeze std "
    "sum swapaxes take tan tanh tile trace transpose tril triu trunc unique unwrap var average "
    "bincount corrcoef cov gradient histogram moveaxis split trapezoid zeros_like ones_like",
    "jax.nn": "celu elu gelu glu leaky_relu log_sigmoid log_softmax logsumexp mish relu relu6 "
    "selu sigmoid silu soft_sign softmax softplus standardize swish tanh",
    "jax.numpy.linalg": "cholesky cond det eig eigh eigvals eigvalsh inv matrix_norm matrix_rank "
    "norm pinv qr slogdet svd svdvals vector_norm",
    "jax.scipy.special": "digamma entr erf erfc erfinv expit gammaln log_softmax logit logsumexp "
    "softmax",
    "jax.lax": "abs cos cumlogsumexp cummax cummin cumprod cumsum erf exp expm1 floor log log1p "
    "logistic neg reciprocal round rsqrt sign sin sqrt square tan tanh",
}
_OF_TWO = {
    "jax.numpy": "add allclose arctan2 cross divide dot equal floor_divide fmax fmin fmod greater "
    "greater_equal hypot inner isclose kron less less_equal logaddexp logical_and logical_or "
    "logical_xor matmul maximum minimum mod multiply not_equal outer power remainder subtract "
    "tensordot true_divide vdot vecdot append convolve digitize heaviside isin meshgrid polyfit "
    "polyval searchsorted take_along_axis",
    # The first is a key, which is no list either.
    "jax.random": "categorical choice",
    "jax.numpy.linalg": "lstsq solve",
    "jax.scipy.special": "betaln kl_div rel_entr xlog1py xlogy",
    "jax.lax": "add atan2 div dot eq ge gt le lt max min mul ne pow rem sub",
}

_OF_THREE = {"jax.numpy": "clip interp where", "jax.lax": "select"}

# By full name, how many of the first arguments are arrays.
STRICT: dict[str, int] = {
    f"{module}.{name}": number
    for number, table in ((1, _OF_ONE), (2, _OF_TWO), (3, _OF_THREE))
    for module, names in table.items()
    for name in names.split()
}
