"""Gaussian graphical models with a known, sparse precision matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu, spsolve_triangular

from gpmnet.checks import check_choice, check_number
from gpmnet.errors import InputError, quote
from gpmnet.graphs import moralise, undirected
from gpmnet.simulate.base import (
    DTYPES,
    FloatType,
    Simulation,
    Simulator,
    Values,
    column_names,
    float_type,
    generators,
)
from gpmnet.simulate.decomposable import check_graph_options, perfect_dag

if TYPE_CHECKING:
    from gpmnet.graphs import Graph
    from gpmnet.simulate.base import Matrix
    from gpmnet.simulate.maps import MappedLaw

STRUCTURES = ("random", "chain")
NEAR = 1e-6  # how near 0 and 1 a correlation may come


@dataclass(frozen=True, eq=False)  # or `Gaussian` would be compared by these fields alone
class LatentGaussian(Simulator):
    """What `Gaussian` and the maps of it share: the options of a random or a chain-like precision matrix."""

    structure: str = "random"
    strength: float = 0.9
    rho: float = 0.5
    density: float | None = None
    max_clique: int | None = None
    dtype: str = "float64"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "structure", STRUCTURES)
        check_number(self, "strength", NEAR, 1 - NEAR)
        check_rho(self)
        check_graph_options(self)
        check_choice(self, "dtype", DTYPES)

    def law(self, d: int, rng: np.random.Generator) -> GaussianLaw:
        """Return the law of d variables."""
        if self.structure == "chain":
            return chain_law(d, self.rho)
        dag = perfect_dag(d, rng, density=self.density, max_clique=self.max_clique)
        graph = moralise(dag.adjacency()).tocoo()
        upper = graph.row < graph.col
        rows, columns = graph.row[upper], graph.col[upper]
        entries = rng.uniform(0.5, 1.0, len(rows)) * rng.choice([-1.0, 1.0], len(rows))
        sums = np.bincount(rows, np.abs(entries), d) + np.bincount(columns, np.abs(entries), d)
        entries *= self.strength / np.sqrt(sums[rows] * sums[columns])
        half = coo_array((entries, (rows, columns)), shape=(d, d))
        return GaussianLaw(csr_array(half + half.T + eye_array(d)))


@dataclass(frozen=True, eq=False)  # two matrices have no one truth value
class Gaussian(LatentGaussian):
    """Draw from N(0, Q^-1); i and j are adjacent if and only if Q_ij is not 0.

    - ``precision=Q``: any symmetric positive definite matrix, dense or sparse.
    - ``structure="random"``: a random decomposable graph (`gpmnet.simulate.decomposable.perfect_dag`) with
      ``Q_ii = 1`` and ``Q_ij = strength * a_ij / sqrt(r_i r_j)``, where a_ij ~ ±U(0.5, 1) and
      ``r_i = sum_j |a_ij|``. The matrix ``a_ij / sqrt(r_i r_j)`` has spectral radius at most 1, so Q is
      positive definite; the partial correlation of an edge is -Q_ij.
    - ``structure="chain"``: ``x_1 = e_1``, ``x_j = rho x_{j-1} + sqrt(1 - rho^2) e_j``: unit variances,
      tridiagonal Q. No loop over columns: 100,000 of them take seconds.

    Parameters
    ----------
    structure : {"random", "chain"}
        How the precision matrix is drawn.
    strength : float
        In (0, 1): how close to singular a random precision matrix may come.
    rho : float
        Correlation of neighbors in the chain, in (-1, 1), not 0.
    density, max_clique : optional
        Of the random graph.
    dtype : {"float64", "float32"}
        Type of the values.
    precision : array or sparse array of shape (d, d), optional
        The precision matrix; structure and what belongs to it is then unused.

    References
    ----------
    Lauritzen (1996), Graphical Models, proposition 5.2.

    Examples
    --------
    >>> drawn = Gaussian(precision=[[2, 1, 0], [1, 2, 0], [0, 0, 1]]).draw(d=3, n=10)
    >>> drawn.edges().values.tolist()
    [['x1', 'x2']]
    """

    name: ClassVar[str] = "gaussian"
    precision: Any = None

    def law(self, d: int, rng: np.random.Generator) -> GaussianLaw:
        """Return the law of the given precision matrix, or of one that is drawn."""
        return super().law(d, rng) if self.precision is None else GaussianLaw(_given(self.precision, d))

    def _draw(self, d: int, n: int, seed: int, kind: str) -> Simulation:
        for_law, for_sample = generators(seed, 2)
        law = self.law(d, for_law)
        structure = self.structure if self.precision is None else "given"
        parameters = self._parameters(d, n, seed, kind, structure=structure)
        del parameters["precision"]  # the simulation has the matrix itself
        return with_law(self.name, law, law.draw(n, for_sample, float_type(self.dtype)), parameters)


@dataclass(frozen=True)
class GaussianLaw:
    """N(0, precision^-1); `rho` marks the chain, for which sampling needs no factorisation."""

    precision: Matrix
    rho: float | None = None

    def graph(self) -> Graph:
        """Return the support of the precision matrix, without its diagonal."""
        entries = self.precision.tocoo()
        upper = (entries.row < entries.col) & (entries.data != 0)
        return undirected(entries.shape[0], entries.row[upper], entries.col[upper])

    def draw(self, n: int, rng: np.random.Generator, dtype: FloatType) -> Values:
        """Draw n rows."""
        d = self.precision.shape[0]
        noise = rng.standard_normal((n, d), dtype=dtype)
        if self.rho is not None:
            from scipy.signal import lfilter  # slow to import, and only the chain needs it

            noise[:, 1:] *= dtype(np.sqrt(1 - self.rho**2))
            return np.asarray(
                lfilter(np.ones(1, dtype=dtype), np.array([1, -self.rho], dtype=dtype), noise, axis=1)
            )
        lower, diagonal, order = _factor(self.precision)
        # Q = P'LDL'P, so L'P x = D^-1/2 e has the covariance that is wanted
        solved = spsolve_triangular(
            lower.T.tocsr(), noise.T / np.sqrt(diagonal)[:, None], lower=False, unit_diagonal=True
        )
        values = np.empty((n, d), dtype=dtype)
        values[:, order] = solved.T
        return values

    def log_density(self, values: Values) -> NDArray[np.float64]:
        """Return the log density, (m, d) -> (m,)."""
        d = self.precision.shape[0]
        log_det = np.log(_factor(self.precision)[1]).sum()
        squares = (values * (self.precision @ values.T).T).sum(axis=1)
        return np.asarray(0.5 * (log_det - squares - d * np.log(2 * np.pi)), dtype=np.float64)


def with_law(
    name: str, law: GaussianLaw | MappedLaw, values: Values, parameters: dict[str, Any]
) -> Simulation:
    """Return a sample of a Gaussian law, or of maps of one, with all that the law knows."""
    d = values.shape[1]
    return Simulation(
        name=name,
        names=column_names(d),
        values=values,
        kinds=("continuous",) * d,
        truth=law.graph(),
        parameters=parameters,
        levels=(0,) * d,
        precision=law.precision,
        log_density=law.log_density,
    )


def check_rho(owner: Any) -> None:
    """Raise unless the option `rho` of a simulator is a correlation that is neither 0 nor near 1 in size."""
    check_number(owner, "rho", NEAR - 1, 1 - NEAR)
    if abs(owner.rho) < NEAR:
        raise InputError(f"{owner.name}: rho must not be 0; got {quote(owner.rho)}")


def chain_law(d: int, rho: float) -> GaussianLaw:
    """Return the law of the stationary chain with correlation rho between neighbors."""
    diagonal = np.full(d, (1 + rho**2) / (1 - rho**2))
    diagonal[[0, -1]] = 1 / (1 - rho**2)
    at = np.arange(d - 1)
    half = coo_array((np.full(d - 1, -rho / (1 - rho**2)), (at, at + 1)), shape=(d, d))
    return GaussianLaw(csr_array(half + half.T + diags_array(diagonal)), rho=rho)


def _given(precision: Any, d: int) -> Matrix:
    try:
        matrix: Matrix = csr_array(precision, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("gaussian: precision must be a matrix of numbers") from error
    if matrix.shape != (d, d):
        raise InputError(f"gaussian: precision must have shape ({d}, {d}), got {matrix.shape}")
    if not np.isfinite(matrix.data).all() or abs(matrix - matrix.T).max() > 1e-10 * abs(matrix).max():
        raise InputError("gaussian: precision must be finite and symmetric")
    _factor(matrix)
    return matrix


def _factor(precision: Matrix) -> tuple[Any, NDArray[np.float64], NDArray[np.intp]]:
    """Return L (unit lower triangular), D and the order of the variables with Q[order][:, order] = L D L'."""
    try:
        # symmetric mode without pivoting keeps L U = L D L' and the fill of a sparse Cholesky factor
        factor = splu(
            csc_array(precision),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:
        raise InputError("gaussian: precision must be positive definite") from error
    diagonal = factor.U.diagonal()
    if not np.array_equal(factor.perm_r, factor.perm_c) or (diagonal <= 0).any():
        raise InputError("gaussian: precision must be positive definite")
    return factor.L, diagonal, np.argsort(factor.perm_c)
