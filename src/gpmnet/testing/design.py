r"""Design matrices of conditioning sets, and ridge regressions on them.

The design matrix of a set S is

.. math:: F(x_S) = [\,z_k,\ \cos m\pi u_k\ (m = 1..16)\,]_{k \in S\ \text{continuous}},\ [\text{indicators}],\
          [\text{what the targets ask for}]

with one indicator per configuration of the discrete members where their joint table is small against the rows
(the regression is then exact), and one per level otherwise; levels count as they were before rare ones were pooled. What
the variables that are regressed ask for: faster functions of a member, functions of their indices (`indices`), products
of functions of several members (`chosen`, `interactions`). All sets of one shape are regressed in one batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from gpmnet.columns.features import Features
from gpmnet.columns.tabulated import WAVES, ZERO, Tabulated, feature_rows
from gpmnet.testing.blocks import CellBlock, DenseBlock, TableBlock, budget
from gpmnet.testing.chosen import Products, with_fast, with_products
from gpmnet.testing.closer import look_closer, n_fitted
from gpmnet.testing.clusters import Clusters
from gpmnet.testing.design_options import DesignOptions
from gpmnet.testing.indices import index_functions, index_of, with_signs
from gpmnet.testing.interactions import SetShape, fitting_shape, n_interactions
from gpmnet.testing.regression import Regression

_CURVES = (
    5  # functions of each member that make up an additive index: few, since it must not follow the noise
)
_FEW_LEVELS = (
    12  # indicators among which a closer look may look for jumps, in time that grows with their square
)
_FITTED_SHARE = 0.28  # of the rows: a closer look that fits more than these takes true edges away
_TABULATED = 8  # how many times what a batch of designs may hold a table of some variables may
_FAST_INDEX = 24  # cosines of a linear index that are looked at


@dataclass(frozen=True, eq=False)
class Designs:
    """The design matrices of conditioning sets over the rows of a table.

    Attributes
    ----------
    features : Features
    options : DesignOptions
    keeps : bool
        Whether the functions of all variables and their moments are computed once: for a few tests that takes longer than
        it saves.
    clusters : Clusters or None
        Those that rows are in, if any.
    """

    features: Features
    options: DesignOptions
    keeps: bool = True
    clusters: Clusters | None = None

    @cached_property
    def _table(self) -> Tabulated | None:
        return Tabulated.of_all(self.features, self._degrees(1)) if self.keeps else None

    @cached_property
    def _room(self) -> int:
        """Cosines of each continuous variable for which tables have room."""
        f = self.features
        return self.options.room(f.n, f.levels, len(f.family))

    def tabulated(self) -> Designs:
        """Return the same with the functions of all variables computed: threads that ask at once would each compute them."""
        _ = self._table
        return self

    def table(self, members: Tensor, targets: Tensor) -> Tabulated:
        """Return a table with the functions of all that sets hold and the features of all targets; -1 is no variable."""
        if self._table is not None:
            return self._table
        everyone = torch.cat([members.flatten(), targets.flatten()])
        inside, outside = (torch.unique(x[x >= 0]) for x in (members, everyone))
        n_continuous = int((self.features.levels[inside] == 0).any())
        return Tabulated.of(self.features, self._degrees(n_continuous), inside, outside)

    def tables(self, variables: Tensor) -> Iterator[tuple[Tensor, Tabulated]]:
        """Yield some variables at a time with a table of their functions and features: all, where there is one of all."""
        if self._table is not None:
            yield variables, self._table
            return
        f = self.features
        widest = max(
            1 + self._degrees(1) + WAVES + len(f.family), int(f.fine_levels.max()) + int(f.levels.max())
        )
        for part in torch.split(variables, max(1, _TABULATED * budget(f.device) // (f.n * widest))):
            yield part, self.table(part, part)

    def batches(self, given: Tensor, budget: int, products: bool = True) -> Iterator[Tensor]:
        """Split conditioning sets (B, s; -1 pads) into batches of one shape whose designs fit the budget.

        `budget` is the number of values that a batch's designs may hold; without `products` they are smaller, and more of
        them alike. Yields positions among the B sets.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for at, key in enumerate(self._keys(given, products).tolist()):
            groups.setdefault(tuple(key), []).append(at)
        for key, members in groups.items():
            columns = self._key(key).n_columns()
            size = max(1, budget // (self.features.n * max(1, columns)))
            for start in range(0, len(members), size):
                yield torch.tensor(members[start : start + size], device=given.device)

    def regress(
        self,
        given: Tensor,
        targets: Sequence[Tensor] = (),
        table: Tabulated | None = None,
        products: bool = True,
    ) -> Regression:
        """Return the regressions on a batch of conditioning sets of one shape, (b, s; -1 pads).

        Parameters
        ----------
        given : Tensor of shape (b, s)
        targets : sequence of Tensor of shape (b,)
            The variables that will be regressed. What says something about any of them joins the design: fast cosines,
            functions of their indices, products.
        table : Tabulated, optional
            One that holds all members and targets.
        products : bool
            Whether products may join; the search does without, since its neighborhoods are what tests are given, not their
            answer.

        Notes
        -----
        Time O(b (p^3 + n q p + n r (p + r))) for p columns of single members whose moments are kept, q features of targets
        and r columns made for them; O(b n p^2) more where no moments are kept.
        """
        f, o = self.features, self.options
        table = self.table(given, torch.stack([*targets]) if targets else given) if table is None else table
        key = self._key(self._keys(given[:1], products)[0].tolist())
        members, slow = self._members(given, key), min(key.n_cosines, o.n_slow)
        regression = Regression.without_columns(len(given), f.n, o.ridge, given.device)
        regression = regression.with_columns(TableBlock(table, self._additive(members, key, table, slow)))
        if key.cells:
            code = self._codes(members.discrete)
            regression = regression.with_columns(CellBlock.of(code, key.cells, table.value))
        if not targets or self._is_exact(key):
            return regression
        index = [feature_rows(f, table, target[:, None])[:, 0] for target in targets]
        both = torch.cat(index, dim=1)
        if 0 < o.n_slow <= key.n_cosines and key.shape.n_continuous:
            fast = table.fast(members.continuous, slow, key.n_cosines)
            sizes = [key.n_cosines - slow, WAVES] if key.n_cosines > slow else [WAVES]
            regression = with_fast(regression, table, fast, sizes, both)
        left = None
        if key.shape.n_continuous + key.n_discrete > 1 and o.index_cosines(f.n):
            lines = self._additive(members, key._replace(cells=0), table, 0)
            curves = torch.cat([lines, table.interacting(members.continuous, _CURVES)], dim=1)
            rows = (lines, curves) if products else (lines,)
            regression, left = self._with_indices(regression, [TableBlock(table, x) for x in rows], index)
        if products and n_interactions(key.shape, key.degree):
            made = Products(table, self._factors(members, key.shape, table), key.shape, key.degree)
            left = regression.left_of(table, both) if left is None else left
            regression = with_products(regression, made, left, o.choice(f.n))
        return regression

    def closer(
        self, regression: Regression, given: Tensor, table: Tabulated, targets: Sequence[Tensor], left: Tensor
    ) -> Regression | None:
        """Return the regressions of `regress` after a closer look at what they leave (b, q, n) of targets' features.

        None where there is nothing to look at: tables of too many variables, sets without a continuous member, and where
        it would leave too few rows.
        """
        f, o = self.features, self.options
        key = self._key(self._keys(given[:1], True)[0].tolist())
        if f.d > o.closer_up_to or not key.shape.n_continuous:
            return None
        # Of the whole batch alike, so that no answer depends on those beside it.
        n_levels = key.n_discrete * key.wide
        n_levels = n_levels if n_levels <= _FEW_LEVELS else 0
        n_scores, n_index = key.shape.n_continuous, o.index_cosines(f.n)
        if n_fitted(f.n, n_scores + n_levels, n_scores, len(targets), n_index) > _FITTED_SHARE * f.n:
            return None
        members = self._members(given, key)
        levels = self._indicators(members.discrete[:, : key.n_discrete if n_levels else 0], table).flatten(1)
        scores, indicators = table.rows(table.additive(members.continuous, 0)), table.rows(levels)
        first = table.rows(torch.stack([feature_rows(f, table, x[:, None])[:, 0, 0] for x in targets], dim=1))
        return look_closer(regression, scores, indicators, first, left, n_index)

    def _with_indices(
        self, regression: Regression, columns: Sequence[TableBlock], targets: Sequence[Tensor]
    ) -> tuple[Regression, Tensor | None]:
        """Return regressions with functions of the indices of targets, rows (b, K) of a table, and what they leave of these.

        The first columns make the linear indices, the second, if there are any, the additive ones. What is left is None
        where it is not known.
        """
        table, few = columns[0].table, self.options.index_cosines(regression.n)
        first = torch.stack([rows[:, 0] for rows in targets], dim=1)
        linear, *curved = (index_of(block, first, regression.ridge) for block in columns)
        many = max(few, min(_FAST_INDEX, regression.n // 16)) if curved else few
        functions = index_functions(linear, many)
        regression = regression.with_columns(DenseBlock(functions[:, :, :few].flatten(1, 2)))
        if not curved:
            return regression, None
        left = regression.left_of(table, torch.cat([*targets], dim=1))
        groups = [functions[:, :, few:], index_functions(curved[0], few)[:, :, 1:]]
        wider = with_signs(regression, [group for group in groups if group.shape[2]], left)
        return (regression, left) if wider is None else (wider, None)

    def cells(self, given: Tensor) -> Tensor:
        """Return the number of cells of the joint table of each set's discrete members, (B,)."""
        levels = torch.where(given >= 0, self.features.fine_levels[given.clamp(min=0)], 0)
        return levels.clamp(min=1).double().prod(dim=1)

    def few_cells(self, given: Tensor) -> Tensor:
        """Return whether the joint table of each set's discrete members is small against the rows, (B,) of bool."""
        return self.cells(given) <= self.options.n_cells(self.features.n)

    def _keys(self, given: Tensor, products: bool) -> Tensor:
        """Return the keys of sets (B, s) as rows of numbers, (B, 5 + s); see `_Key`."""
        levels = torch.where(given >= 0, self.features.fine_levels[given.clamp(min=0)], -1)
        n_continuous, n_discrete = (levels == 0).sum(dim=1), (levels > 0).sum(dim=1)
        cells = self.cells(given)
        saturated = (n_discrete > 1) & self.few_cells(given)
        widths = (levels - 1).clamp(min=0).sort(dim=1).values
        kinds = torch.cat([n_continuous[:, None], saturated[:, None].long(), widths], dim=1)
        unique, place = torch.unique(kinds, dim=0, return_inverse=True)
        used = [self._used(kind) if products else _unused(kind) for kind in unique.tolist()]
        joint = torch.tensor(used, device=given.device).reshape(len(used), 1 + given.shape[1])[place]
        rounded = torch.where(saturated, _power_of_two(cells), 0)
        widest = _power_of_two(widths[:, -1] if given.shape[1] else torch.zeros_like(cells))
        common = torch.stack([rounded, n_discrete, widest, joint[:, 0], n_continuous], dim=1)
        return torch.cat([common, joint[:, 1:]], dim=1)

    def _used(self, kind: list[int]) -> list[int]:
        """Return the degree of the interactions of a kind of set, and the widths of the discrete members in them."""
        n_continuous, saturated, *widths = kind
        wide = tuple(width for width in widths if width)
        whole = SetShape(n_continuous, wide, bool(saturated), WAVES)
        shape, degree = fitting_shape(whole, self.options.n_interactions(self.features.n))
        if not n_interactions(shape, degree):
            return _unused(kind)
        return [degree, *shape.widths, *[0] * (len(widths) - len(shape.widths))]

    def _is_exact(self, key: _Key) -> bool:
        """Return whether the regressions are exact: discrete members only, one column a cell."""
        return not key.shape.n_continuous and (key.cells > 0 or key.n_discrete <= 1)

    def _members(self, given: Tensor, key: _Key) -> _Members:
        levels = torch.where(given >= 0, self.features.fine_levels[given.clamp(min=0)], -1)
        ordered = given.gather(1, levels.argsort(dim=1, stable=True))
        discrete = ordered[:, given.shape[1] - key.n_discrete :]
        return _Members(given[levels == 0].reshape(len(given), -1), discrete)

    def _additive(self, members: _Members, key: _Key, table: Tabulated, n_cosines: int) -> Tensor:
        """Return the rows of a table with functions of single members, (b, p)."""
        rows = table.additive(members.continuous, n_cosines)
        if not key.n_discrete or key.cells:
            return rows
        return torch.cat([rows, self._indicators(members.discrete, table).flatten(1)], dim=1)

    def _factors(self, members: _Members, shape: SetShape, table: Tabulated) -> Tensor:
        """Return the rows of a table whose products are interactions, (b, f), in the order of `factors`."""
        rows = [table.interacting(members.continuous, shape.w)]
        for slot, width in enumerate(shape.widths):
            rows.append(self._indicators(members.discrete[:, slot : slot + 1], table)[:, 0, :width])
        return torch.cat(rows, dim=1)

    def _indicators(self, variables: Tensor, table: Tabulated) -> Tensor:
        """Return the rows of discrete variables (b, s), (b, s, widest)."""
        width = self.features.fine_levels[variables] - 1
        slots = torch.arange(int(width.max()) if width.numel() else 0, device=variables.device)
        return torch.where(slots < width[..., None], table.start[variables][..., None] + slots, ZERO)

    def _cosines(self, n_continuous: int) -> int:
        return min(self._room, self.options.cosines(self.features.n, n_continuous))

    def _degrees(self, n_continuous: int) -> int:
        return max(1, self._cosines(n_continuous))

    def _key(self, row: Sequence[int]) -> _Key:
        """Return what a row of `_keys` tells."""
        cells, n_discrete, wide, degree, n_continuous, *widths = row
        used = tuple(width for width in widths if width)
        shape = SetShape(n_continuous, used, cells > 0, WAVES)
        return _Key(cells, n_discrete, wide, degree, self._cosines(n_continuous), shape)

    def _codes(self, members: Tensor) -> Tensor:
        """Return the cell of each row in the joint table of discrete members (b, s): (b, n)."""
        f = self.features
        code = torch.zeros((len(members), f.n), dtype=torch.int64, device=members.device)
        for member in members.T:
            code = code * f.fine_levels[member][:, None] + f.fine_codes[:, member].T.long()
        return code


class _Members(NamedTuple):
    """The continuous members of sets of one shape, and the discrete ones, narrow ones first: (b, s) each."""

    continuous: Tensor
    discrete: Tensor


class _Key(NamedTuple):
    """What the sets of a batch have in common.

    Attributes
    ----------
    cells : int
        Of a saturated table, rounded up, since tables are padded; or 0.
    n_discrete, wide : int
        Number of discrete members, and the columns of the widest, rounded up.
    degree : int
        Highest degree of interactions, 1 if there are none.
    n_cosines : int
        Of each continuous member.
    shape : SetShape
        The members that interact: all continuous ones, and the discrete ones that are not too wide.
    """

    cells: int
    n_discrete: int
    wide: int
    degree: int
    n_cosines: int
    shape: SetShape

    def n_columns(self) -> int:
        """Return the columns of a design, padding included."""
        own = self.shape.n_continuous * (1 + self.n_cosines) + (self.cells or self.n_discrete * self.wide)
        return own + n_interactions(self.shape, self.degree)


def _unused(kind: list[int]) -> list[int]:
    """Return degree 1 and no widths: sets without interactions need not be alike to the last column to share a batch."""
    return [1] + [0] * (len(kind) - 2)


def _power_of_two(count: Tensor) -> Tensor:
    """Round counts up to a power of two (0 and below to 1)."""
    return (2 ** torch.ceil(torch.log2(count.double().clamp(min=1.0)))).long()
