"""Many computations of one kind: here, in processes beside, or on the machines of a cluster; finished ones are kept."""

from gpmnet.jobs.kept import Arrays, Kept, forget
from gpmnet.jobs.run import Where, run_tasks

__all__ = ["Arrays", "Kept", "Where", "forget", "run_tasks"]
