"""What a fit has finished, kept on the disk until the fit is done, so that a stopped one can go on.

A shelf is a folder. Things that are finished are written in parts, some at a time; what is under way is in one more file,
which is replaced. Every file appears whole, is in the format of safetensors (never pickle), and holds the key of its run
and a digest of its content. Nothing is written in the first seconds of a fit, and then only now and then; results of tasks
that run elsewhere are written as they come.
"""

from __future__ import annotations

import json
import re
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gpmnet.errors import InputError, ResumeWarning, one_line, quote
from gpmnet.files.digest import digest, metadata
from gpmnet.files.leftovers import clear_files, is_place
from gpmnet.files.plain import read_plain
from gpmnet.files.whole import whole_file

if TYPE_CHECKING:
    from torch import Tensor

    Tensors = dict[str, Tensor]

EVERY = 5.0
"""Seconds between two writes, at least; what was finished since the last one is lost with the process."""
_SHARE = 0.01  # of the time that writing may take
_PART = re.compile(r"part-([0-9]{6})\.safetensors")
_NOW = "now.safetensors"

Kind = TypeVar("Kind")


class Shelf:
    """Where a fit keeps what it has finished.

    Parameters
    ----------
    folder : Path or None
        Made when there is something to write. None: nothing is kept.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder
        self._key = ""
        self._found: dict[str, Tensors] = {}
        self._finished: dict[str, Tensors] = {}
        self._n_parts = 0
        self._next = time.monotonic() + EVERY

    def open(self, key: str) -> None:
        """Take up what the folder has of the run with this key; what it has of any other is removed, and that is said."""
        self._key, self._found, self._finished, self._n_parts = key, {}, {}, 0
        self._next = time.monotonic() + EVERY
        if self.folder is None:
            return
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{quote(self.folder, 200)} is a file; a folder is needed to resume from")
        for path in self._files():
            try:
                there, content = _read(path)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or one_line(error)
                _say(f"{quote(path, 200)} is damaged ({reason}): what it held is computed again")
                with suppress(OSError):  # a folder of that name
                    path.unlink()
                continue
            if there != key:
                _say(
                    f"{quote(self.folder, 200)} holds work of another table, other settings or another version: it is "
                    "removed, and the fit starts anew"
                )
                self._found = {}
                self._remove_files()
                return
            for name, value in content.items():
                item, _, field = name.partition("/")
                self._found.setdefault(item, {})[field] = value
            if part := _PART.fullmatch(path.name):
                self._n_parts = int(part[1])

    def section(self, name: str) -> Shelf:
        """Return a part of the shelf for things of the same names as others have; `name` has no slash."""
        return _Section(self, name)

    def take(self, item: str) -> Tensors | None:
        """Return a thing that the stopped run had finished or was about to, on the CPU; None if it had not come so far."""
        return self._found.pop(item, None)

    def put(self, item: str, tensors: Tensors) -> None:
        """Hold a thing that was finished elsewhere, and is kept as that, for who takes it."""
        self._found[item] = tensors

    def keep(self, item: str, tensors: Mapping[str, Tensor], at_once: bool = False) -> None:
        """Keep a thing that is finished, `at_once` if it is large work and small to write; its name has no slash."""
        if self.folder is None:
            return
        self._finished[item] = _copied(tensors)
        if at_once or self.is_due:
            self._write(None)

    def keep_state(self, item: str, tensors: Mapping[str, Tensor]) -> None:
        """Keep how far a thing is, in the place of what was said of it before; a caller asks `is_due` first."""
        if self.folder is not None:
            self._write({item: _copied(tensors)})

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return self.folder is not None and time.monotonic() >= self._next

    @property
    def has_files(self) -> bool:
        """Whether a fit that is stopped now can go on from something."""
        return self.folder is not None and bool(self._files())

    def kept(self, item: str, compute: Callable[[], Tensors]) -> Tensors:
        """Return tensors as the stopped run left them, or compute and keep them."""
        found = self.take(item)
        if found is None:
            found = compute()
            self.keep(item, found)
        return found

    def kept_as(self, kind: type[Kind], item: str, device: Any, compute: Callable[[], Kind]) -> Kind:
        """Do the same for a dataclass of tensors and whole numbers; what the stopped run left goes to a device."""
        import torch

        found = self.take(item)
        names = [field.name for field in fields(kind)]  # type: ignore[arg-type]  # a dataclass
        if found is None:
            value = compute()
            self.keep(item, {name: torch.as_tensor(getattr(value, name)) for name in names})
            return value
        return kind(
            **{name: found[name].to(device) if found[name].ndim else int(found[name]) for name in names}
        )

    def kept_data(self, item: str, compute: Callable[[], Any]) -> Any:
        """Do the same for what JSON can hold."""
        import torch

        found = self.take(item)
        if found is not None:
            return json.loads(found["json"].numpy().tobytes())
        value = compute()
        if self.folder is not None:
            self.keep(
                item, {"json": torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)}
            )
        return value

    def remove(self) -> None:
        """Remove what was kept: the fit is done."""
        self._found, self._finished = {}, {}
        if self.folder is not None and self.folder.is_dir():
            self._remove_files()
            with suppress(OSError):  # it holds what is not ours
                self.folder.rmdir()

    def _write(self, state: dict[str, Tensors] | None) -> None:
        """Write what is finished since the last time, and how far the rest is."""
        assert self.folder is not None
        begun = time.monotonic()
        try:
            if self._finished:
                self._n_parts += 1
                self._put(f"part-{self._n_parts:06d}.safetensors", self._finished)
                self._finished = {}
            if state is not None:
                self._put(_NOW, state)
        except InputError as error:  # a full disk must not end a fit that does well without
            _say(f"{error}: the fit goes on, but if it is stopped it cannot be resumed from here")
            self.folder = None
        ended = time.monotonic()
        self._next = ended + max(EVERY, (ended - begun) / _SHARE)

    def _put(self, name: str, items: dict[str, Tensors]) -> None:
        from safetensors.torch import save

        assert self.folder is not None
        content = {f"{item}/{field}": value for item, held in items.items() for field, value in held.items()}
        bytes_ = save(content, metadata={"key": self._key, "digest": _digest(content)})
        with whole_file(self.folder / name) as beside:
            beside.write_bytes(bytes_)

    def _files(self) -> list[Path]:
        """Return the files of the shelf, the parts in their order."""
        assert self.folder is not None
        if not self.folder.is_dir():
            return []
        return sorted(x for x in self.folder.iterdir() if _PART.fullmatch(x.name) or x.name == _NOW)

    def _remove_files(self) -> None:
        assert self.folder is not None
        clear_files(self.folder)
        for path in self.folder.iterdir():
            if _PART.fullmatch(path.name) or path.name == _NOW or is_place(path.name):
                with suppress(OSError):
                    path.unlink()


class _Section(Shelf):
    """A part of a shelf: what it has is the shelf's, under names that begin with its own."""

    def __init__(self, shelf: Shelf, name: str) -> None:
        super().__init__(shelf.folder)
        self._shelf, self._name = shelf, name

    def take(self, item: str) -> Tensors | None:
        """Return a thing that the stopped run had finished."""
        return self._shelf.take(f"{self._name}: {item}")

    def put(self, item: str, tensors: Tensors) -> None:
        """Hold a thing that was finished elsewhere."""
        self._shelf.put(f"{self._name}: {item}", tensors)

    def keep(self, item: str, tensors: Mapping[str, Tensor], at_once: bool = False) -> None:
        """Keep a thing that is finished."""
        self._shelf.keep(f"{self._name}: {item}", tensors, at_once)

    def keep_state(self, item: str, tensors: Mapping[str, Tensor]) -> None:
        """Keep how far a thing is."""
        self._shelf.keep_state(f"{self._name}: {item}", tensors)

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return self._shelf.is_due


def _copied(tensors: Mapping[str, Tensor]) -> Tensors:
    """Return tensors on the CPU that nobody changes any more."""
    return {name: value.detach().to("cpu", copy=True).contiguous() for name, value in tensors.items()}


def _read(path: Path) -> tuple[str, Tensors]:
    """Return the key and the content of a file; raise ValueError where it is not what was written."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    whole = read_plain(path)
    try:
        # Clones, since the tensors of a file lie in its bytes.
        content: Tensors = {name: value.clone() for name, value in load(whole).items()}
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    said = metadata(whole)
    if said.get("digest") != _digest(content):
        raise ValueError("its digest differs")
    return str(said.get("key")), content


def _digest(content: Tensors) -> str:
    names = sorted(content)
    return digest(names, [content[name].numpy() for name in names])


def _say(text: str) -> None:
    warnings.warn(text, ResumeWarning, stacklevel=4)
