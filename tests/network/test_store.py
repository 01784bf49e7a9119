import json

import numpy as np
import pytest

from gpmnet import MarkovNetwork
from gpmnet.errors import InputError
from gpmnet.network import Pairs


@pytest.fixture
def net():
    pairs = Pairs.of(
        [0, 0, 1], [1, 2, 2], [True, False, True], p_value=[0.01, 0.2, 1e-300], strength=[0.3, 0.1, 1 / 3]
    )
    return MarkovNetwork(
        ("a", "<b>\n", "c"), pairs, ("discrete", "continuous", "ordinal"), n_rows=7, fdr=0.05
    )


def test_round_trip_is_exact(net, tmp_path):
    net.save(tmp_path / "out")
    back = MarkovNetwork.load(tmp_path / "out")
    assert (back.names, back.kinds, back.n_rows, back.fdr) == (net.names, net.kinds, 7, 0.05)
    for name in net.pairs.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(back.pairs, name), getattr(net.pairs, name))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out"]


def test_saving_again_replaces_and_leaves_other_files_alone(net, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    net.save(tmp_path)
    net.save(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.txt", "network.json", "omega.safetensors"]


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("network.json", lambda b: b[:-9], "damaged"),
        ("network.json", lambda b: b.replace(b"gpmnet-network", b"other"), "not a gpmnet network"),
        ("network.json", lambda b: b.replace(b'"version": 1', b'"version": 99'), "format 99"),
        ("network.json", lambda b: b'["a"]', "not a gpmnet network"),
        ("network.json", lambda b: b.replace(b'"n_pairs": 3', b'"n_pairs": 4'), "do not fit"),
        ("omega.safetensors", lambda b: b[:-4], "damaged"),
        ("omega.safetensors", lambda b: b"\x80\x04pickle", "damaged"),
    ],
)
def test_damaged_files_are_refused(net, tmp_path, file, change, words):
    net.save(tmp_path)
    path = tmp_path / file
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InputError, match=words):
        MarkovNetwork.load(tmp_path)


def test_names_that_do_not_fit_and_nothing_there(net, tmp_path):
    with pytest.raises(InputError, match="holds no saved network"):
        MarkovNetwork.load(tmp_path)
    net.save(tmp_path)
    about = json.loads((tmp_path / "network.json").read_text())
    (tmp_path / "network.json").write_text(json.dumps(about | {"names": ["a", "b"]}))
    with pytest.raises(InputError, match="do not fit its names"):
        MarkovNetwork.load(tmp_path)
