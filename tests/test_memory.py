"""Free memory under the limits of control groups, from fake file trees; and memory that the system refuses."""

import numpy as np
import pytest
import torch

from gpmnet.errors import OutOfMemoryError
from gpmnet.memory import available_bytes, group_bytes, refusals_told


@pytest.fixture
def tree(tmp_path):
    def _tree(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return _tree


def test_the_tightest_group_of_version_2_counts(tree):
    root = tree(
        {
            "proc/self/cgroup": "0::/a/b\n",
            "sys/fs/cgroup/a/memory.max": "5000\n",
            "sys/fs/cgroup/a/memory.current": "3000\n",
            "sys/fs/cgroup/a/b/memory.max": "max\n",
            "sys/fs/cgroup/a/b/memory.current": "10\n",
        }
    )
    assert group_bytes(root) == 2000
    tree({"sys/fs/cgroup/a/memory.stat": "anon 1\ninactive_file 500\n"})
    assert group_bytes(root) == 2500
    tree({"sys/fs/cgroup/a/b/memory.max": "100"})
    assert group_bytes(root) == 90


def test_version_1_inside_a_container_whose_path_is_the_hosts(tree):
    root = tree(
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "900",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000",
            "sys/fs/cgroup/memory/memory.stat": "inactive_file 7\ntotal_inactive_file 300\n",
        }
    )
    assert group_bytes(root) == 200


def test_no_limit_and_no_groups(tree, tmp_path):
    assert group_bytes(tmp_path) is None
    assert group_bytes(tree({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max"})) is None


def test_the_smaller_of_machine_and_group(monkeypatch):
    monkeypatch.setattr("gpmnet.memory.group_bytes", lambda: 17)
    assert available_bytes("cpu") == 17
    monkeypatch.setattr("gpmnet.memory.group_bytes", lambda: None)
    assert available_bytes("cpu") > 17


def test_memory_that_is_refused_is_one_error_with_one_line():
    for ask in (lambda: torch.empty(1 << 50), lambda: np.empty(1 << 55), lambda: bytearray(1 << 60)):
        with (
            pytest.raises(OutOfMemoryError, match=r"the system refused .*; take fewer columns") as caught,
            refusals_told(),
        ):
            ask()
        assert "\n" not in str(caught.value)
    with pytest.raises(RuntimeError, match="another"), refusals_told():
        raise RuntimeError("another error stays what it is")
