"""Arguments that are no arguments: one clear line, and never the end of the interpreter."""

import os

import numpy as np
import pandas as pd
import pytest
import torch

from gpmnet import GPM, fit
from gpmnet.errors import InputError
from gpmnet.parallel import MOST_THREADS, all_threads, check_n_jobs, limited_threads
from gpmnet.parameters import where_of


@pytest.mark.parametrize("given", [10**9, 10**30, np.int64(10**9)])
def test_more_threads_than_any_machine_has_are_not_started(given):
    jobs = check_n_jobs(given)
    assert 1 <= jobs <= max(MOST_THREADS, os.cpu_count())
    with limited_threads(jobs), all_threads():  # where OpenMP would end the process
        assert torch.ones(1000, 1000).sum() == 1e6


def test_more_processes_than_any_machine_has_are_not_started():
    assert 2 <= where_of(10**9, None).workers <= max(16, os.cpu_count())
    assert where_of(10**9, "tcp://127.0.0.1:9").workers == 10**9  # to wait for: they may be anywhere
    assert where_of(-1, None).workers == -1


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_jobs": "x"}, "n_jobs must be a positive number of threads"),
        ({"fdr": 10**400}, "fdr must be between 0 and 1"),
        ({"min_strength": -(10**400)}, "min_strength must be a number from 0"),
        ({"n_jobs": 1.5}, "n_jobs must be a positive number of threads"),
        ({"forbid": [("x1",)]}, "forbid must be a list of pairs of names"),
        ({"forbid": {"x1": "x2"}}, "forbid must be a list of pairs of names"),
        ({"forbid": pd.DataFrame({"a": ["x1"]})}, "forbid must be a list of pairs of names"),
        ({"random_state": -1}, "random_state must be from 0 to"),
        ({"random_state": 2**70}, "random_state must be from 0 to"),
        ({"random_state": np.array([1, 2])}, "random_state must be a whole number"),
        ({"random_state": float("nan")}, "random_state must be a whole number"),
    ],
    ids=str,
)
def test_malformed_parameters_are_refused_in_one_line(parameters, words):
    with pytest.raises(InputError, match=words) as caught:
        GPM(**parameters).fit(np.random.default_rng(0).normal(size=(30, 3)))
    assert "\n" not in str(caught.value)


def test_copies_of_one_column_are_called_duplicates():
    a = np.random.default_rng(0).normal(size=60)
    with pytest.raises(InputError, match=r"fewer than two usable columns remain .'x2': a duplicate of 'x1'"):
        fit(np.column_stack([a, 2 * a]))


def test_callbacks_must_be_functions_and_what_they_raise_ends_the_fit():
    table = np.random.default_rng(0).normal(size=(60, 3))
    model = GPM().fit(table)
    before = model.network_
    for name in ("progress", "on_edges"):
        with pytest.raises(InputError, match=f"{name} must be a function; got '5'"):
            model.fit(table, **{name: 5})

        def fail(*_):
            raise ZeroDivisionError("mine")

        for jobs in (1, 2):
            with pytest.raises(ZeroDivisionError, match="mine"):
                model.set_params(n_jobs=jobs).fit(table[::-1], **{name: fail})
    assert model.network_ is before
