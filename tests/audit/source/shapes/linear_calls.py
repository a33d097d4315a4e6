"""Calls of linear algebra, transforms to frequencies, and densities."""

from verax.audit.source.shapes.semantics import densities

from .calling import C64, KEY, A, Call, call, cube, ints, places, square, v, x


def linear_calls() -> list[Call]:
    n, s, matrix = "jax.numpy.linalg.", "jax.scipy.linalg.", A(7, 7)
    return [
        call(n + "cond", square),
        call(n + "diagonal", cube),
        call(n + "diagonal", cube, offset=1),
        call(n + "lstsq", x, A(5)),
        call(n + "lstsq", x, A(5, 3)),
        call(n + "matrix_norm", cube),
        call(n + "matrix_norm", cube, keepdims=True),
        call(n + "matrix_rank", cube),
        call(n + "svdvals", cube),
        call(n + "trace", cube),
        call(s + "block_diag", x, matrix, v),
        call(s + "cholesky", matrix, lower=True),
        call(s + "det", matrix),
        call(s + "eigh", matrix),
        call(s + "eigh", matrix, eigvals_only=True),
        call(s + "expm", matrix),
        call(s + "inv", matrix),
        call(s + "lu", x),
        call(s + "lu_factor", x),
        call(s + "solve", matrix, A(7, 3)),
        call(s + "solve_triangular", matrix, A(7, 3), lower=True),
        call(s + "solve_sylvester", A(5, 5), matrix, x),
        call(s + "sqrtm", matrix),
        call(s + "svd", x, full_matrices=False),
        call(s + "toeplitz", v),
        call(s + "toeplitz", v, A(5)),
        call("jax.lax.linalg.cholesky", matrix),
        call("jax.lax.linalg.triangular_solve", matrix, A(7, 3), left_side=True),
    ]


def signal_calls() -> list[Call]:
    n, spectrum = "jax.numpy.fft.", A(5, 7, dtype=C64)
    signal = "jax.scipy.signal."
    return [
        *(call(n + name, x) for name in "fft ifft fft2 ifft2 fftn ifftn rfft rfft2 rfftn".split()),
        *(call(n + name, spectrum) for name in "irfft irfft2 irfftn hfft".split()),
        call(n + "ihfft", x),
        call(n + "fft", x, 16, 0),
        call(n + "rfft", x, 16),
        call(n + "irfft", spectrum, 12),
        call(n + "irfft2", spectrum, s=(8, 12)),
        call(n + "rfftn", cube, axes=(0, 1)),
        call(n + "fftfreq", 5),
        call(n + "rfftfreq", 5),
        call(n + "fftshift", x),
        call(n + "ifftshift", x),
        *(
            call("jax.numpy." + name, v, A(3), mode)
            for name in ("convolve", "correlate")
            for mode in ("full", "same", "valid")
        ),
        call("jax.numpy.correlate", v, A(3)),
        call(signal + "convolve", x, A(3, 2)),
        call(signal + "correlate", x, A(3, 2), mode="same"),
        call(signal + "fftconvolve", x, A(3, 2), mode="valid"),
        call(signal + "convolve2d", x, A(3, 2), mode="same"),
        call(signal + "correlate2d", x, A(3, 2)),
        call(signal + "detrend", x),
        *(call("jax.scipy.fft." + name, x) for name in "dct idct dctn idctn".split()),
        call("jax.scipy.ndimage.map_coordinates", x, [A(9), A(9)], 1),
        call("jax.scipy.ndimage.map_coordinates", x, A(2, 9), 1),
    ]


def density_calls() -> list[Call]:
    """Each of the densities with as many parameters as it asks for, and one that broadcasts."""
    calls: list[Call] = []
    for name, function in densities.ELEMENTWISE.items():
        needed = [it for it in function.parameters if it not in ("loc", "scale")]
        value = ints if name.endswith("pmf") else x
        calls.append(call(name, value, *([v] * (len(needed) - 1))))
        if "scale" in function.parameters:
            calls.append(call(name, x, *([0.5] * (len(needed) - 1)), v, scale=2.0))
    stats = "jax.scipy.stats."
    for name in ("logpdf", "pdf"):
        calls.append(call(f"{stats}multivariate_normal.{name}", x, v, A(7, 7)))
    for name in ("logpmf", "pmf"):
        calls.append(call(f"{stats}multinomial.{name}", places, 9, A(5)))
    return [
        *calls,
        call(stats + "rankdata", x),
        call(stats + "rankdata", x, axis=1),
        call(stats + "sem", x),
        call(stats + "sem", x, axis=None),
        call("jax.scipy.integrate.trapezoid", x),
        call("jax.scipy.integrate.trapezoid", x, A(7)),
        call("jax.random.multinomial", KEY, 9.0, v),
        call("jax.random.key_data", KEY),
    ]
