"""The models of the deep engine: an energy for any set of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor, nn

from gpmnet.energies import Coordinates, Energy, NormalEnergy, PairwiseEnergy, SumEnergy
from gpmnet.energies.listed import ListedPairwiseEnergy
from gpmnet.energies.together import TogetherEnergy, acting_together
from gpmnet.engines.base import Problem
from gpmnet.engines.deep_recipe import Recipe
from gpmnet.penalties import Penalty
from gpmnet.selection.halves import entering_size, entering_sizes
from gpmnet.solvers.adam import Loss, OmegaPenalty, Track, Trained, train, worst_variable
from gpmnet.solvers.checkpoint import Ended, fitted
from gpmnet.solvers.listed import ListedPairwise
from gpmnet.solvers.proximal import PairMasks, Solved, SparsePairwise
from gpmnet.testing.learned import Fold


@dataclass(frozen=True, eq=False)
class Part:
    """Rows that a model is fitted to.

    Attributes
    ----------
    name : str
        Of the model.
    rows : Tensor of shape (m,)
    """

    name: str
    rows: Tensor


@dataclass(frozen=True, eq=False)
class Other:
    """A model of some of the rows.

    Attributes
    ----------
    name : str
    energy : Energy
    seen : Tensor of shape (m,)
        The rows it was fitted to.
    """

    name: str
    energy: Energy
    seen: Tensor


@dataclass(eq=False)
class Models:
    """Fits energies to rows; each is kept on the shelf, if there is one.

    Attributes
    ----------
    recipe : Recipe
    coordinates : Coordinates
    masks : PairMasks
        In the order of the coordinates.
    problem : Problem
        Its seed, its progress and its shelf are used.
    n_iter : int
        Steps of the slowest solver so far.
    stops : list of (str, int)
        Solvers that ended at their cap, in words, and the variable that is worst off, in the order of the coordinates.
    noise : Tensor of shape (d, d)
        The penalty's units of the pairs in the last fit.
    survived : dict of str to bool
        Of each model, whether what is trained predicts held-out rows better than the base; if not, it is dropped.
    told_of : str
        Name of the model whose Omega is told.
    """

    recipe: Recipe
    coordinates: Coordinates
    masks: PairMasks
    problem: Problem
    n_iter: int = 0
    stops: list[tuple[str, int]] = field(default_factory=list)
    noise: Tensor = field(default_factory=lambda: torch.zeros(()))
    survived: dict[str, bool] = field(default_factory=dict)
    told_of: str = "all rows"

    def anew(self) -> Models:
        """Return the same before anything was fitted."""
        return Models(self.recipe, self.coordinates, self.masks, self.problem)

    def folds(self, h: Tensor, lam: float) -> tuple[list[Fold], list[Other]]:
        """Return the parts of the rows (n, D), each with the energy of the others; and these energies as models."""
        found, others = [], []
        for rows, rest in zip(self._folds(h), self.fold_parts(h), strict=True):
            others.append(Other(rest.name, self.energy(h[rest.rows], lam, rest.name), rest.rows))
            found.append(Fold(rows, others[-1].energy))
        return found, others

    def fold_parts(self, h: Tensor) -> list[Part]:
        """Return which of the rows (n, D) the models of the folds are fitted to: all but those of a fold."""
        folds = self._folds(h)
        return [Part(f"fold {k + 1}", torch.cat([*folds[:k], *folds[k + 1 :]])) for k in range(len(folds))]

    def _folds(self, h: Tensor) -> Sequence[Tensor]:
        order = torch.randperm(len(h), generator=self.generator("folds")).to(h.device)
        return order.chunk(self.recipe.options.n_folds)

    def halves(self, h: Tensor, lam: float, split: int) -> tuple[Energy, Energy]:
        """Return the energies of two disjoint halves of the rows (n, D), another two for each number of a split."""
        one, other = (self.energy(h[half.rows], lam, half.name) for half in self.split(h, split))
        return one, other

    def split(self, h: Tensor, split: int) -> list[Part]:
        """Return which of the rows (n, D) are in each of two halves."""
        order = torch.randperm(len(h), generator=self.generator(f"split {split}")).to(h.device)
        return [Part(f"half {2 * split + k}", rows) for k, rows in enumerate(order.chunk(2), 1)]

    def listed(self, h: Tensor, lam: float, name: str) -> tuple[Energy, ListedPairwiseEnergy]:
        """Return the pairwise energy of rows (n, D) that lists the pairs with an interaction, and its pairwise part.

        The same penalised fit as `energy` with a pairwise family. It is quick, and not kept on the shelf.
        """
        family, penalty = self.recipe.base.pairs, self.recipe.penalty
        steps = self.recipe.options.proximal_steps
        pairwise = ListedPairwiseEnergy(self.coordinates, family).to(h)
        base, generator = NormalEnergy(self.coordinates).to(h), self.generator(f"{name} pairwise")
        self.problem.progress(f"pairs of {name}", 0, 1)
        sparse = ListedPairwise(base, pairwise, h, self.recipe.objective, self.masks, generator, steps)
        self._note(f"FISTA without interactions (proximal_steps={steps})", _ended(sparse.alone))
        sizes = entering_sizes(self.coordinates, family.n_functions, self._n_pairs())
        solved = sparse.solve(penalty.at(penalty.lam * lam / len(h) ** 0.5), sizes)
        self._note(f"FISTA (proximal_steps={steps}) of listed pairs", _ended(solved))
        self.problem.progress(f"pairs of {name}", 1, 1)
        return SumEnergy(base, pairwise).requires_grad_(False), pairwise

    def energy(self, h: Tensor, lam: float, name: str) -> Energy:
        """Return the energy of rows (n, D): the base, and the deep part where it predicts held-out rows better."""
        base: Energy = NormalEnergy(self.coordinates).to(h)
        sparse, pairwise = self.sparse(h, name)
        penalty = self.penalty(lam, sparse)

        def solve() -> list[Ended]:
            return [_ended(sparse.fit(penalty))]

        if self.recipe.base.has_pairs:
            for ended in fitted(self.problem.shelf, name + " pairwise", pairwise, solve):
                self._note(f"FISTA (proximal_steps={self.recipe.options.proximal_steps})", ended)
            base = SumEnergy(base, pairwise)
        elif self.recipe.base.trains_own:
            base = SumEnergy(base, pairwise)  # without interactions, its own terms fitted already
        base.requires_grad_(False)
        if self.recipe.energy.is_trained:
            pairwise.own.requires_grad_(self.recipe.base.trains_own)
            pairwise.own_levels.requires_grad_(self.recipe.base.trains_own)
            base = self._with_deep(
                base, h, OmegaPenalty(penalty, sparse.scales.noise, self.recipe.options.omega_rows), name
            )
        return base

    def told(self, energy: Energy, others: Sequence[Other], h: Tensor) -> Energy:
        """Return the energy whose Omega is told: that of all rows, or if it alone dropped what is trained the best other.

        Edges that others' models saw would else be told with the Omega of a model that does not have them.
        """
        kept = [other for other in others if self.survived.get(other.name)]
        if self.survived.get("all rows", True) or not kept:
            return energy

        @torch.no_grad()
        def unseen(other: Other) -> float:
            rest = torch.ones(len(h), dtype=torch.bool, device=h.device)
            rest[other.seen] = False
            return float(self.recipe.objective(other.energy, h[rest], self.generator("told")).mean())

        best = min(kept, key=unseen)
        self.told_of = best.name
        return best.energy

    def notes(self) -> tuple[str, ...]:
        """Return what became of the trained part, in a sentence."""
        family = type(self.recipe.energy).__name__
        if not self.recipe.energy.is_trained:
            return (f"the energy is {family}: nothing is trained on top of it",)
        parts = {name: kept for name, kept in self.survived.items() if name != "all rows"}
        share = f"{sum(parts.values())} of {len(parts)} models of parts of the rows"
        if self.survived["all rows"]:
            return (f"the {family} is part of the model of all rows, and of {share}",)
        dropped = (
            f"the {family} was dropped from the model of all rows, where it predicts held-out rows no better than the base; "
            f"it is part of {share}"
        )
        if self.told_of == "all rows":
            return (dropped,)
        return (f"{dropped}; Omega and shapes are those of one of these, {self.told_of}",)

    def _with_deep(self, base: Energy, h: Tensor, penalty: OmegaPenalty, name: str) -> Energy:
        generator, options = self.generator(f"{name} deep"), self.recipe.options
        deep = self.recipe.energy.build(self.coordinates, h, generator)
        sets = acting_together(self.coordinates, h, options.most_together)
        top = SumEnergy(deep, TogetherEnergy(self.coordinates, sets).to(h)) if sets else deep
        energy = SumEnergy(base, top)
        learned: nn.Module = energy if self.recipe.base.trains_own else top
        slower = replace(
            options,
            learning_rate=options.learning_rate / 3,
            steps=options.steps // 3,
            patience=max(1, options.patience // 3),
        )
        plain = Loss(energy, self.recipe.objective)

        def ended(trained: Trained) -> Ended:
            return Ended(trained.steps, None if trained.converged else worst_variable(energy, h))

        def learn() -> list[Ended]:
            # First without the penalty, whose kink at 0 would hide what only many variables show together.
            first = train(plain, learned, h, options, generator, self._track(name, 1), deep.solver(base))
            found = [ended(first)]
            if first.better:
                both = replace(plain, penalty=penalty)
                found.append(ended(train(both, learned, h, slower, generator, self._track(name, 2))))
            return found

        phases = f"Adam (steps={options.steps})", f"Adam with the penalty (a third of steps={options.steps})"
        ends = fitted(self.problem.shelf, name + " deep", learned, learn)
        self.survived[name] = len(ends) > 1  # there is a second phase only where the first was worth it
        for phase, end in zip(phases, ends, strict=False):
            self._note(phase, end)
        self.problem.progress(f"train {name}", 1, 1)
        energy.requires_grad_(False)
        return energy

    def generator(self, purpose: str) -> torch.Generator:
        """Return a source of random numbers that depends on the seed and on what it is for."""
        key = hashlib.blake2b(f"{self.problem.seed}\0{purpose}".encode(), digest_size=7).digest()
        return torch.Generator().manual_seed(int.from_bytes(key, "little"))

    def _note(self, solver: str, ended: Ended) -> None:
        self.n_iter = max(self.n_iter, ended.steps)
        if ended.worst is not None:
            self.stops.append((solver, ended.worst))

    def _track(self, name: str, phase: int) -> Track:
        report = partial(self.problem.progress, f"train {name}")
        return Track(self.problem.shelf, f"{name} training {phase}", report)

    def sparse(self, h: Tensor, name: str) -> tuple[SparsePairwise, PairwiseEnergy]:
        """Return what fits the pairwise family to rows (n, D), without interactions so far; and that family."""
        pairwise = self.recipe.base.pairs.build(self.coordinates, h, None)
        base, generator = NormalEnergy(self.coordinates).to(h), self.generator(f"{name} pairwise")
        objective, steps = self.recipe.objective, self.recipe.options.proximal_steps
        sparse = SparsePairwise(base, pairwise, h, objective, self.masks, generator, steps)
        if self.recipe.decide == "omega":
            size = entering_size(self.coordinates, pairwise.n_functions, self._n_pairs())
            sparse.scales.noise *= size.to(h)
        self.noise = sparse.scales.noise
        self._note(f"FISTA without interactions (proximal_steps={steps})", _ended(sparse.alone))
        return sparse, pairwise

    def fit_sparse(self, sparse: SparsePairwise, lam: float, solver: str) -> None:
        """Fit the pairwise family from where it is."""
        solved = sparse.fit(self.penalty(lam, sparse))
        self._note(f"{solver} (proximal_steps={self.recipe.options.proximal_steps})", _ended(solved))

    def _n_pairs(self) -> int:
        d = self.coordinates.n_variables
        return d * (d - 1) // 2 - int(self.masks.closed.sum()) // 2

    def penalty(self, lam: float, sparse: SparsePairwise) -> Penalty:
        """Return the penalty at a lambda; an adaptive one asks for first estimates, made when it is first asked for."""
        penalty, n = self.recipe.penalty, len(sparse.h)
        # First estimates in units of their noise, so that a pair at its noise has weight 1.
        found = penalty.at(penalty.lam * lam / n**0.5).fitted_to(
            lambda: sparse.initial() / sparse.scales.noise * n**0.5
        )
        if sparse.first is not None:
            steps = self.recipe.options.proximal_steps
            self._note(f"FISTA of first estimates (a third of proximal_steps={steps})", _ended(sparse.first))
        return found


@dataclass(frozen=True, eq=False)
class Start:
    """What models are fitted with.

    Attributes
    ----------
    h : Tensor of shape (n, D)
        The rows as energies see them.
    models : Models
    """

    h: Tensor
    models: Models


def all_rows(h: Tensor) -> Part:
    """Return the part of the rows (n, D) that is all of them."""
    return Part("all rows", torch.arange(len(h), device=h.device))


def _ended(solved: Solved) -> Ended:
    return Ended(solved.steps, None if solved.converged else solved.worst)
