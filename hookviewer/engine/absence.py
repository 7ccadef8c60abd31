"""The names of what a run could not record, and why."""

NOT_CALLED = "not called"
STOPPED = "not run (stopped)"
NO_PATH = "no path to the target"
WITHOUT_GRADIENT = "computed without gradient"
FORWARD_ONLY = "forward only"
FROZEN = "frozen"
NO_DATA = "no data (meta)"
IN_TRANSFORM = "no data (torch.func)"
UNINITIALISED = "uninitialised (lazy)"
FUSED = "fused"
CONTAINER = "container"
NO_TENSORS = "no tensors"
IN_EXPORTED = "not available in an exported program"
IN_TORCHSCRIPT = "not available in TorchScript"


def not_differentiable(dtype: object) -> str:
    """Return the absence of a gradient of whole numbers, truth values and the like."""
    return f"not differentiable ({str(dtype).removeprefix('torch.')})"
