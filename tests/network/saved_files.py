"""Changes to the files of a saved network that carry the digest they should have, and how they are refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from gpmnet import MarkovNetwork
from gpmnet.errors import InputError
from gpmnet.network.store import _digest


def change_json(folder, **changes):
    whole = json.loads((folder / "network.json").read_text())
    (folder / "network.json").write_text(json.dumps(whole | changes))
    sign(folder)


def change_arrays(folder, **changes):
    arrays = load_file(folder / "omega.safetensors") | changes
    save_file(
        {name: np.ascontiguousarray(a) for name, a in arrays.items() if a is not None},
        folder / "omega.safetensors",
    )
    sign(folder)


def sign(folder):
    """Give changed files the digest that belongs to them: what is refused then is what they say."""
    whole = json.loads((folder / "network.json").read_text())
    digest = _digest(whole, (folder / "omega.safetensors").read_bytes())
    (folder / "network.json").write_text(json.dumps(whole | {"digest": digest}))


def refused(folder, words):
    with pytest.raises(InputError, match=words) as caught:
        MarkovNetwork.load(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
