"""Many computations of one kind: here, in processes beside, or on the machines of a cluster."""

from gpmnet.jobs.given import Given
from gpmnet.jobs.run import Arrays, Tasks, Where, Workplace, run_tasks

__all__ = ["Arrays", "Given", "Tasks", "Where", "Workplace", "run_tasks"]
