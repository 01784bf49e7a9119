r"""Training of an energy by Adam: score matching with a penalty on Omega, early stopping, resumable.

.. math:: \frac1B \sum_{r \in \text{batch}} \ell(x_r) + \sum_{i<j} c_{ij}^2\, \rho_\lambda(\Omega_{ij} / c_{ij})

Omega is that of the whole energy, estimated from a few rows of the batch; c are the units of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from gpmnet.energies import Energy
from gpmnet.engines.deep_options import DeepOptions
from gpmnet.errors import ComputationError
from gpmnet.objectives import Objective
from gpmnet.omega import squared_omega
from gpmnet.penalties import Penalty
from gpmnet.solvers.checkpoint import load_state, save_state

_EVERY = 20  # steps between two looks at the held-out rows
_CLIP = 100.0  # longest gradient
_SMOOTH = 1e-6  # added to Omega squared, whose root has no derivative at 0
_BETTER = 1e-3  # a held-out loss counts as better from this much on

Report = Callable[[int, int, str], None]


@dataclass(frozen=True)
class OmegaPenalty:
    """A penalty on Omega over all pairs.

    Attributes
    ----------
    penalty : Penalty
    units : Tensor of shape (d, d)
        c of each pair.
    n_rows : int
        Rows of a batch over which Omega is averaged.
    """

    penalty: Penalty
    units: Tensor
    n_rows: int

    def __call__(self, energy: Energy, h: Tensor) -> Tensor:
        """Return the penalty of an energy, Omega over the first rows (n, D)."""
        omega = (squared_omega(energy, h[: self.n_rows]) + _SMOOTH).sqrt()
        units = self.units.clamp(min=1e-6)
        return torch.triu(units.square() * self.penalty.value(omega / units), diagonal=1).sum()


@dataclass(eq=False)
class _State:
    """All that a step depends on and changes."""

    deep: nn.Module
    optimiser: torch.optim.Adam
    generator: torch.Generator
    step: int = 0
    best: float = float("inf")
    best_step: int = 0
    best_parameters: dict[str, Tensor] | None = None

    def tensors(self) -> dict[str, Tensor]:
        """Return everything as tensors, for a checkpoint."""
        found = {f"now/{name}": value for name, value in self.deep.state_dict().items()}
        found |= {f"best/{name}": value for name, value in (self.best_parameters or {}).items()}
        for name, parameter in self.deep.named_parameters():
            found |= {f"adam/{name}/{k}": v for k, v in self.optimiser.state.get(parameter, {}).items()}
        counters = torch.tensor([self.step, self.best, self.best_step], dtype=torch.float64)
        return found | {"generator": self.generator.get_state(), "counters": counters}

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go back to a checkpoint."""

        def under(prefix: str) -> dict[str, Tensor]:
            # Clones, since the tensors of a file lie in its bytes.
            return {k.removeprefix(prefix): v.clone() for k, v in tensors.items() if k.startswith(prefix)}

        self.deep.load_state_dict(under("now/"))
        self.best_parameters = under("best/") or None
        for name, parameter in self.deep.named_parameters():
            if found := under(f"adam/{name}/"):
                moved = {k: v if k == "step" else v.to(parameter) for k, v in found.items()}
                self.optimiser.state[parameter] = moved
        self.generator.set_state(tensors["generator"].cpu())
        step, self.best, best_step = tensors["counters"].tolist()
        self.step, self.best_step = int(step), int(best_step)


def train(
    energy: Energy,
    deep: nn.Module,
    h: Tensor,
    objective: Objective,
    penalty: OmegaPenalty | None,
    options: DeepOptions,
    generator: torch.Generator,
    checkpoint: Path | None = None,
    report: Report | None = None,
) -> bool:
    """Train one part of an energy on rows (n, D) and leave it where the held-out loss, penalty included, was least.

    Returns whether that is better than where it started.

    Parameters
    ----------
    energy : Energy
        The whole, whose loss and Omega count.
    deep : Module
        The part that learns.
    generator : torch.Generator
        On the CPU; decides which rows are held out and the batches.
    checkpoint : Path, optional
        File that is written now and then, and from which an interrupted training goes on, to the same bits.
    report : callable, optional
        Called with the step, the most steps, and the losses in words.
    """
    n = len(h)
    order = torch.randperm(n, generator=generator).to(h.device)
    kept = n - max(1, int(options.held_out * n))
    rows, held = h[order[:kept]], h[order[kept:]]
    state = _State(deep, torch.optim.Adam(deep.parameters(), lr=options.learning_rate), generator)
    if checkpoint is not None and checkpoint.exists():
        state.restore(load_state(checkpoint, state.tensors()))
    while state.step < options.steps:
        if state.step % _EVERY == 0:
            if checkpoint is not None and state.step % (10 * _EVERY) == 0:
                save_state(checkpoint, state.tensors())
            loss = _look(energy, held, objective, penalty, state)
            if report is not None:
                report(state.step, options.steps, f"held-out loss {loss:.4g}, best {state.best:.4g}")
            if state.step - state.best_step > options.patience:
                break
        _step(energy, rows, objective, penalty, options.batch, state)
        state.step += 1
    _look(energy, held, objective, penalty, state)
    if state.best_parameters is None:
        raise ComputationError("training never reached a finite held-out loss; try a smaller learning_rate")
    deep.load_state_dict(state.best_parameters)
    return state.best_step > 0


@torch.no_grad()
def _look(
    energy: Energy, held: Tensor, objective: Objective, penalty: OmegaPenalty | None, state: _State
) -> float:
    # Objectives that draw must not disturb the batches that follow.
    loss = float(objective(energy, held, torch.Generator().manual_seed(0)).mean())
    if penalty is not None:
        loss += float(penalty(energy, held))
    if loss < state.best - _BETTER:
        state.best, state.best_step = loss, state.step
        state.best_parameters = {k: v.clone() for k, v in state.deep.state_dict().items()}
    return loss


def _step(
    energy: Energy,
    rows: Tensor,
    objective: Objective,
    penalty: OmegaPenalty | None,
    batch: int,
    state: _State,
) -> None:
    at = torch.randint(len(rows), (min(batch, len(rows)),), generator=state.generator).to(rows.device)
    chosen = rows[at]
    terms = {"objective": objective(energy, chosen, state.generator).mean()}
    if penalty is not None:
        terms["penalty on Omega"] = penalty(energy, chosen)
    for name, term in terms.items():
        if not bool(torch.isfinite(term)):
            raise ComputationError(
                f"training stopped at step {state.step}: the {name} is {float(term.detach())}; "
                "try a smaller learning_rate, a larger batch, or another objective"
            )
    state.optimiser.zero_grad()
    torch.stack(list(terms.values())).sum().backward()
    length = nn.utils.clip_grad_norm_(state.deep.parameters(), _CLIP)
    if not bool(torch.isfinite(length)):
        raise ComputationError(
            f"training stopped at step {state.step}: the gradient is {float(length)}; try a smaller learning_rate"
        )
    state.optimiser.step()
