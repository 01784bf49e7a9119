"""The engines: each a short file that puts parts together, and one line here."""

from gpmnet.engines.base import Engine
from gpmnet.engines.dag import DagEngine
from gpmnet.engines.deep import DeepEngine
from gpmnet.engines.kernels import KernelEngine
from gpmnet.engines.local import LocalEngine
from gpmnet.engines.paper import PaperEngine

ENGINES: dict[str, type[Engine]] = {
    "local": LocalEngine,
    "dag": DagEngine,
    "deep": DeepEngine,
    "paper": PaperEngine,
    "kernels": KernelEngine,
}

__all__ = ["ENGINES", "Engine"]
