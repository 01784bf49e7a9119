"""The deep engine: lambda, models of the folds and of all rows, tests of the pairs, Omega."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gpmnet.energies import Coordinates, Energy
from gpmnet.energies.grids import edge_surfaces
from gpmnet.engines.base import Description, Engine, Found, Problem, Stop
from gpmnet.engines.deep_lam import lam_of
from gpmnet.engines.deep_memory import model_bytes
from gpmnet.engines.deep_models import Models, Start, all_rows
from gpmnet.engines.deep_omega import by_all_pairs, by_lists, exact_omega
from gpmnet.engines.deep_recipe import Recipe
from gpmnet.engines.deep_tasks import crew_of, fit_elsewhere
from gpmnet.engines.deep_tests import JoinedTests
from gpmnet.engines.local import LocalEngine
from gpmnet.errors import InputError
from gpmnet.omega import standardised_omega, table_order
from gpmnet.parallel import all_threads
from gpmnet.solvers.proximal import PairMasks

_MANY_VALUES = (
    1 << 20
)  # rows times coordinates from which an operation takes longer than threads wait for each other


_MANY_PRODUCTS = 1 << 26  # rows times pairs of coordinates, likewise
_RULE = (
    "edges are the support of Omega, what two halves of the rows learn alike: no pair was tested, there are no p-values, "
    "and fdr does not apply"
)


@dataclass(frozen=True, eq=False)
class DeepFound(Found):
    """Pairs that came close, and the model of all rows.

    Attributes
    ----------
    omega : ndarray of shape (m,)
        Omega of the pairs.
    own : ndarray of shape (d,)
        Its diagonal.
    energy : Energy
    rows : Tensor of shape (n, D)
        The rows as the energy sees them.
    order : ndarray of shape (d,)
        Position of each variable of the table in the energy's coordinates.
    said : tuple of str
        What became of the trained part.
    is_edge : ndarray of bool, shape (m,), or None
        Which pairs are in the support of Omega, where that decides.
    """

    omega: NDArray[np.float64]
    own: NDArray[np.float64]
    energy: Energy
    rows: Tensor
    order: NDArray[np.intp]
    said: tuple[str, ...] = ()
    is_edge: NDArray[np.bool_] | None = None

    def decided(self) -> NDArray[np.bool_] | None:
        """Return which pairs are edges where Omega says so; None where tests do."""
        return self.is_edge

    @property
    def notes(self) -> tuple[str, ...]:
        """What became of the trained part."""
        return self.said

    @property
    def has_whole_omega(self) -> bool:
        """Whether Omega decides: it is then given whole."""
        return self.is_edge is not None

    def describe(self, is_edge: NDArray[np.bool_], shown: NDArray[np.intp]) -> Description:
        """Return Omega and surfaces of the energy; see `Description`.

        An edge that tests found and of which the energy has nothing has no Omega (NaN): 0 would say that there is no edge.
        """
        ends = (self.order[end[shown]] for end in (self.first, self.second))
        omega = np.where(is_edge & (self.omega == 0), np.nan, self.omega)
        return Description(omega, self.own, edge_surfaces(self.energy, self.rows, *ends))


@dataclass(frozen=True)
class DeepEngine(Recipe, Engine):
    """Fits one energy to an encoded table and tests its pairs.

    Parameters
    ----------
    options : DeepOptions
    energy : str or EnergyFamily
        What is trained on top of the base, a word of `ENERGIES` or a part; `Pairwise` is a sparse pairwise family with
        nothing on top.
    objective : str or Objective
        A word of `OBJECTIVES` or a part.
    penalty : str or Penalty
        A word of `PENALTIES` or a part.

    Notes
    -----
    Time, for n rows and d continuous variables of K functions: a step of the pairwise family n (d K)^2, of the deep
    energy B d H for its loss and b d^2 H for the penalty (b = omega_rows), n_folds + 1 times; a tested pair 49 n H.

    Examples
    --------
    >>> from gpmnet.penalties import SCAD
    >>> DeepEngine(penalty=SCAD(a=3.0)).with_params(energy__hidden=128).energy
    MLP(hidden=128, depth=1, beta=1.0)
    """

    @property
    def own_rule(self) -> str | None:
        """How it chooses edges where tests do not."""
        return _RULE if self.decide == "omega" else None

    def memory(self, n_rows: int, n_levels: NDArray[np.intp]) -> int:
        """Return about how many bytes a fit needs beyond the table."""
        local = LocalEngine(self.options.local).memory(n_rows, n_levels)
        return local + model_bytes(self, n_rows, n_levels)

    def fit(self, problem: Problem) -> DeepFound:
        """Return the pairs that came close and the model.

        Forbidden pairs have no pairwise interaction; the pairwise interaction of required ones is not penalised.
        """
        n_folds, n = self.options.n_folds, problem.n
        if n < 2 * n_folds:  # a fold's model holds out one row and learns from another
            raise InputError(
                f"the deep engine with n_folds={n_folds} needs at least {2 * n_folds} rows; the table has {n}"
            )
        if self.decide == "omega":
            return self._fit_omega(problem)
        order, crew = table_order(problem.encoded.is_discrete), crew_of(self, problem)
        h, models = crew.base.h, crew.base.models
        with all_threads() if h.numel() >= _MANY_VALUES else nullcontext():
            lam = lam_of(crew)
            fit_elsewhere(crew, [*models.fold_parts(h), all_rows(h)], lam)
            folds, others = models.folds(h, lam)
            energy = models.told(models.energy(h, lam, "all rows"), others, h)
        searched, tests = JoinedTests(self.options, problem, h, order, folds).run(models.masks.closed)
        precision = exact_omega(energy, h).cpu().numpy()[np.ix_(order, order)]
        place = np.argsort(order)
        first, second = (end.cpu().numpy() for end in (searched.first, searched.second))
        return DeepFound(
            first=first,
            second=second,
            log_p=tests.log_p.cpu().numpy(),
            strength=tests.strength.cpu().numpy(),
            strength_error=tests.strength_error.cpu().numpy(),
            strength_excess=tests.strength_excess.cpu().numpy(),
            sign=tests.sign.cpu().numpy(),
            n_rows=np.full(len(first), float(problem.n)),
            n_iter=max(models.n_iter, searched.n_rounds),
            stops=(*searched.stops, *(Stop(solver, int(place[at])) for solver, at in models.stops)),
            learned={"energy": energy, "lam": lam, "survived": dict(models.survived)},
            omega=precision[first, second],
            own=precision.diagonal().copy(),
            energy=energy,
            rows=h,
            order=order,
            said=models.notes(),
        )

    def _fit_omega(self, problem: Problem) -> DeepFound:
        """Return all pairs, or those with an interaction; those in the support of Omega as edges. No pair is tested."""
        order, crew = table_order(problem.encoded.is_discrete), crew_of(self, problem)
        h, models = crew.base.h, crew.base.models
        lam = lam_of(crew)
        if self.lists_pairs(problem.d):
            with all_threads() if 4 * h.numel() >= _MANY_VALUES else nullcontext():
                said = by_lists(models, h, lam)
        else:
            splits = [half for split in range(self.options.n_splits) for half in models.split(h, split)]
            fit_elsewhere(crew, [*splits, all_rows(h)], lam)
            with all_threads() if h.numel() * h.shape[1] >= _MANY_PRODUCTS else nullcontext():
                said = by_all_pairs(models, h, lam)
        place = np.argsort(order)
        ends = np.sort(place[said.pairs.cpu().numpy()], axis=1).reshape(-1, 2)
        first, second = ends.T
        omega, own = said.omega.cpu().numpy(), said.own.cpu().numpy()[order]
        m, is_discrete = len(first), problem.encoded.is_discrete
        return DeepFound(
            first=first,
            second=second,
            log_p=np.full(m, np.nan),
            strength=standardised_omega(omega, own, is_discrete, first, second),
            strength_error=np.full(m, np.nan),
            strength_excess=np.zeros(m),
            sign=np.zeros(m),
            n_rows=np.full(m, float(problem.n)),
            n_iter=models.n_iter,
            stops=tuple(Stop(solver, int(place[at])) for solver, at in models.stops),
            learned={"energy": said.energy, "lam": lam, "survived": dict(models.survived)},
            omega=omega,
            own=own,
            energy=said.energy,
            rows=h,
            order=order,
            said=models.notes(),
            is_edge=said.is_edge.cpu().numpy(),
        )

    def start(self, problem: Problem) -> Start:
        """Return what the models of a problem are fitted with."""
        order = table_order(problem.encoded.is_discrete)
        coordinates, h = _rows(problem)
        masks = PairMasks(*(_mask(pairs, order, problem) for pairs in (problem.forbidden, problem.required)))
        return Start(h, Models(self, coordinates, masks, problem))


def _rows(problem: Problem) -> tuple[Coordinates, Tensor]:
    """Return the rows of a table as energies see them, (n, D)."""
    encoded = problem.encoded
    codes = torch.as_tensor(encoded.codes.astype(np.int64))
    scores = torch.as_tensor(np.ascontiguousarray(encoded.scores, dtype=np.float32))
    coordinates = Coordinates.from_codes(scores.shape[1], tuple(int(m) for m in encoded.n_levels), codes)
    return coordinates, coordinates.encode(scores, codes).to(problem.device)


def _mask(pairs: NDArray[np.intp], order: NDArray[np.intp], problem: Problem) -> Tensor:
    """Return pairs of the table's order as a symmetric mask in that of the coordinates."""
    mask = torch.zeros((problem.d, problem.d), dtype=torch.bool, device=problem.device)
    if len(pairs):
        a, b = order[pairs].T
        mask[a, b] = mask[b, a] = True
    return mask
