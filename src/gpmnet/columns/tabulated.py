"""Functions of columns, computed once and kept one a row, and their moments: designs are then gathered, not computed."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.functions import Scores, cosines, waves
from gpmnet.columns.precision import FEW, check_sums
from gpmnet.memory import block_size
from gpmnet.parallel import side_by_side
from gpmnet.table.encode import normal_quantiles

_DOUBLE_UP_TO = (
    1 << 12
)  # rows; beyond, a pass over them takes a CPU as long as memory takes, and sums average rounding out
_MOST = 1 << 29  # numbers of a table
_MOST_ROWS = 1 << 13  # rows of a table whose moments are kept
_STRIP = 1 << 9  # rows whose moments are computed at a time
_SINGLE_ROWS = 1 << 13  # rows of the data summed up in single precision; sums of sums are double
WAVES = 16
"""Waves in z of each continuous variable, of which products are made."""
_WRITTEN = 1 << 23  # scores whose functions are computed at a time
ZERO, ONE = 0, 1
"""The first two rows of every table are constant: the one pads designs, the other products."""


@dataclass(frozen=True, eq=False)
class Tabulated:
    r"""Functions of some variables, one a row.

    Attributes
    ----------
    value : Tensor of shape (D, n)
        A row of zeros, a row of ones; for each continuous variable that sets may hold its score z, W cosines of its rank
        and some waves in z, centred with unit variance; for each discrete one the indicators of its fine levels likewise;
        and the features of each continuous variable as they are. Those of a discrete one are its indicators, which it
        has twice only if levels were pooled. In single precision where there are many rows; sums of products are double.
    start, feature_start : Tensor of shape (d,)
        First row of the functions and of the features of each variable, 0 where the table has none.
    n_cosines : int
        W.
    gram : Tensor of shape (D, D) or None
        Mean products of the rows, where they are kept.
    """

    value: Tensor
    start: Tensor
    feature_start: Tensor
    n_cosines: int
    gram: Tensor | None

    @classmethod
    def of(
        cls, features: Features, n_cosines: int, members: Tensor, targets: Tensor, keep: bool = False
    ) -> Tabulated:
        """Return the functions of variables that sets hold and the features of targets, both as positions.

        Time and memory n D; n D^2 / 2 more for moments, which are kept if asked for and not too many.
        """
        f, d = features, features.d
        start, feature_start = (torch.zeros(d, dtype=torch.int64, device=f.device) for _ in range(2))
        discrete = torch.unique(torch.cat([members, targets]))
        discrete = discrete[f.is_discrete[discrete]]
        pooled = discrete[f.fine_levels[discrete] > f.levels[discrete]]
        members, targets = members[~f.is_discrete[members]], targets[~f.is_discrete[targets]]
        first = 2
        for variables, size, where in (
            (members, torch.full_like(members, 1 + n_cosines + WAVES), start),
            (targets, f.width[targets], feature_start),
            (discrete, f.width[discrete], feature_start),
            (pooled, f.fine_levels[pooled] - 1, start),
        ):
            where[variables] = first + torch.cumsum(size, dim=0) - size
            first += int(size.sum())
        start[discrete] = torch.where(start[discrete] > 0, start[discrete], feature_start[discrete])
        single = f.n > _DOUBLE_UP_TO and f.device.type == "cpu"
        dtype = torch.float32 if single else f.phi.dtype
        value = torch.zeros((first, f.n), dtype=dtype, device=f.device)
        value[ONE] = 1.0
        for part in _parts(members, f.n):
            _write_functions(
                f, part, n_cosines, value[start[part[0]] :][: len(part) * (1 + n_cosines + WAVES)]
            )
        for variables in (targets, discrete):
            for part in _parts(variables, f.n):
                columns = f.columns(part)
                columns = columns[columns < f.phi.shape[1] - 1]
                block = value[feature_start[part[0]] :][: len(columns)]
                block[:] = f.phi[:, columns].T
                if variables is discrete:
                    standardised(block)
        for variable in pooled.tolist():
            block = value[start[variable] :][: int(f.fine_levels[variable]) - 1]
            block[:] = torch.arange(1, len(block) + 1, device=f.device)[:, None] == f.fine_codes[:, variable]
            standardised(block)
        gram = moments(value) if keep and keeps_moments(len(value)) else None
        return cls(value, start, feature_start, n_cosines, gram)

    @classmethod
    def of_all(cls, features: Features, n_cosines: int) -> Tabulated | None:
        """Return the functions of all variables, None where they are too many."""
        f = features
        pooled = f.fine_levels[f.fine_levels > f.levels] - 1
        numbers = table_numbers(f.n, f.levels, n_cosines, len(f.family)) + f.n * int(pooled.sum())
        if numbers > block_size(_MOST):
            return None
        everyone = torch.arange(f.d, device=f.device)
        return cls.of(f, n_cosines, everyone, everyone, keep=True)

    def span(self, variable: int, features: Features) -> tuple[int, int]:
        """Return the first row of the functions of a variable and the one after the last."""
        first = int(self.start[variable])
        fine = int(features.fine_levels[variable])
        wide = fine - 1 if fine else 1 + self.n_cosines + WAVES
        return first, first + wide

    def rows(self, index: Tensor, at: slice = slice(None)) -> Tensor:
        """Return some rows of the table, (b, p) to (b, p, n), or only `at` some rows of the data."""
        return torch.unflatten(self.value[:, at][index.flatten()], 0, index.shape)

    def products(self, one: Tensor, two: Tensor) -> Tensor:
        """Return mean products of rows (b, p) and rows (b, q), double, (b, p, q)."""
        if self.gram is not None:
            return self.gram[one[:, :, None], two[:, None, :]].double()
        found = torch.zeros((*one.shape, two.shape[1]), dtype=torch.float64, device=one.device)
        n = self.value.shape[1]
        for at in slices(n, summed_at_once(self.value, one.numel() + two.numel())):
            found += self.rows(one, at) @ self.rows(two, at).mT
        return found / n

    def additive(self, members: Tensor, n_cosines: int) -> Tensor:
        """Return the rows of z and some cosines of continuous members (b, c), member by member: (b, c (1 + cosines))."""
        slots = torch.arange(n_cosines + 1, device=members.device)
        return (self.start[members][..., None] + slots).flatten(1)

    def fast(self, members: Tensor, slow: int, n_cosines: int) -> Tensor:
        """Return the rows of the cosines beyond some slow ones and of the waves of members (b, c): (b, c, h)."""
        cosines = torch.arange(slow + 1, n_cosines + 1, device=members.device)
        waves = torch.arange(self.n_cosines + 1, self.n_cosines + WAVES + 1, device=members.device)
        return self.start[members][..., None] + torch.cat([cosines, waves])

    def interacting(self, members: Tensor, degrees: int) -> Tensor:
        """Return the rows of the functions of degree 1, 2, ... of continuous members (b, c), likewise."""
        slots = torch.arange(1, degrees + 1, device=members.device)
        rows = self.start[members][..., None] + self.n_cosines + slots
        rows[..., 0] = self.feature_start[members]  # all but linear, in the place of the slowest sine
        return rows.flatten(1)


def feature_rows(features: Features, table: Tabulated, variables: Tensor) -> Tensor:
    """Return the rows of a table with the features of variables (b, s; -1 pads): (b, s, widest)."""
    chosen = variables.clamp(min=0)
    width = torch.where(variables >= 0, features.width[chosen], 0)
    slots = torch.arange(max(1, int(width.max())), device=variables.device)
    return torch.where(slots < width[..., None], table.feature_start[chosen][..., None] + slots, ZERO)


def cosines_that_fit(n: int, levels: Tensor, n_features: int) -> int:
    """Return with how many cosines a variable a table of all variables fits, and its moments; see `table_numbers`."""
    continuous = int((levels == 0).sum())
    others = table_numbers(1, levels, 0, n_features)
    return (min(_MOST_ROWS, _MOST // max(1, n)) - others) // max(1, continuous)


def table_numbers(n: int, levels: Tensor, n_cosines: int, n_features: int) -> int:
    """Return how many numbers the table of all variables has; 0 levels stand for a continuous one."""
    rows = torch.where(levels > 0, levels - 1, 1 + n_cosines + WAVES + n_features)
    return n * (2 + int(rows.sum()))


def table_bytes(n: int, levels: Tensor, n_cosines: int, n_features: int, size: int) -> int:
    """Return the bytes of the table of all variables and of its moments, 0 where there is none."""
    numbers = table_numbers(n, levels, n_cosines, n_features)
    if numbers > block_size(_MOST):
        return 0
    d = numbers // max(1, n)
    return size * (numbers + (d * d if keeps_moments(d) else 0))


def keeps_moments(rows: int) -> bool:
    """Return whether the moments of a table of so many rows are kept."""
    return rows <= _MOST_ROWS and rows**2 <= block_size(_MOST_ROWS**2)


def slices(n: int, size: int) -> list[slice]:
    """Return n rows in pieces of about one size."""
    return [slice(at, min(at + size, n)) for at in range(0, n, max(1, size))]


def summed_at_once(like: Tensor, columns: int) -> int:
    """Return how many rows of some columns are summed up at once: few in single precision, and what fits elsewhere."""
    return _SINGLE_ROWS if like.dtype == torch.float32 else max(1024, _WRITTEN * 8 // max(1, columns))


def moments(value: Tensor) -> Tensor:
    """Return the mean products (D, D) of the rows of a table (D, n); half of them are computed."""
    count = len(value)
    gram = value.new_empty((count, count))
    strips = slices(count, _STRIP)
    strips = strips[::2] + strips[1::2]  # the later, the shorter

    def some(part: slice) -> list[Tensor]:
        return [_strip(value, strip) for strip in strips[part]]

    worth = len(strips) if value.device.type == "cpu" else 1
    found = [block for part in side_by_side(some, len(strips), worth) for block in part]
    for strip, block in zip(strips, found, strict=True):
        gram[strip, strip.start :] = block
        gram[strip.start :, strip] = block.T
    return gram


def _strip(value: Tensor, strip: slice) -> Tensor:
    """Return the mean products of some rows of a table with themselves and all later ones."""
    size = (strip.stop - strip.start, len(value) - strip.start)
    total = torch.zeros(size, dtype=torch.float64, device=value.device)
    for at in slices(value.shape[1], _SINGLE_ROWS if value.dtype == torch.float32 else value.shape[1]):
        total += value[strip, at] @ value[strip.start :, at].T
    if value.dtype == torch.float32:
        last = value[strip.start :][
            -FEW:
        ]  # not the same rows twice, whose sums no error of a sign would show
        check_sums(value[strip][:FEW], last, total[:FEW, -len(last) :])
    return (total / value.shape[1]).to(value.dtype)


def standardised(rows: Tensor) -> Tensor:
    """Return rows (..., n) centred and with unit variance, in place; constant ones become zero."""
    rows -= rows.mean(dim=-1, keepdim=True)
    spread = torch.linalg.vector_norm(rows, dim=-1, keepdim=True) / rows.shape[-1] ** 0.5
    rows *= torch.where(spread > 1e-6, 1 / spread.clamp(min=1e-6), 0.0)
    return rows


def _parts(variables: Tensor, n: int) -> list[Tensor]:
    """Return variables in parts whose functions are computed at a time."""
    return [*torch.split(variables, max(1, block_size(_WRITTEN) // max(1, n)))] if len(variables) else []


def _write_functions(f: Features, variables: Tensor, n_cosines: int, rows: Tensor) -> None:
    """Write z, cosines and waves of continuous variables, variable by variable, into rows of a table."""
    s = Scores(f.mid_scores[:, f.score_start[variables]].T.double())
    reach = max(1.0, float(normal_quantiles(f.n)[-1]))
    block = rows.view(len(variables), -1, f.n)
    block[:, 0] = s.z
    for m, cosine in enumerate(cosines(s, n_cosines), 1):
        block[:, m] = cosine
    for m, wave in enumerate(waves(s, WAVES, reach), 1 + n_cosines):
        block[:, m] = wave
    standardised(rows)
