"""What a run was made of and how, in words that can be kept in a file."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RunDescription:
    """The model, the plan and the versions behind a run; empty where they are not known.

    Attributes:
        model: The name of the model's class.
        spec: The text that the model was opened by, as ``torchvision:resnet18``.
        target: What was differentiated, as text.
        interventions: What was changed on the way: (path, text), in the order of acting.
        train: Whether modules were in train mode.
        seed: The seed of all random numbers.
        complete: Whether the forward was to run to its end.
        hookviewer_version: The version of hookviewer that made the run.
        torch_version: The version of torch that made the run.
    """

    model: str = ""
    spec: str = ""
    target: str = ""
    interventions: tuple[tuple[str, str], ...] = ()
    train: bool = False
    seed: int | None = None
    complete: bool = True
    hookviewer_version: str = ""
    torch_version: str = ""
