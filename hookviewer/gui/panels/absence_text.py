"""Sentences for what a run could not record."""

from PySide6.QtCore import QCoreApplication

from hookviewer.engine import absence


def absence_text(reason: str) -> str:
    """Return the name of an absence with a sentence that explains it."""
    explanation = _explanations().get(reason, "")
    if not explanation and reason.startswith("not differentiable"):
        explanation = _tr("Only floating-point values have gradients.")
    return f"{reason}\n\n{explanation}" if explanation else reason


def _explanations() -> dict[str, str]:
    return {
        absence.NOT_CALLED: _tr("The model did not use this node in this run."),
        absence.STOPPED: _tr("The run ended before it reached this node."),
        absence.NO_PATH: _tr("The target does not depend on this value."),
        absence.WITHOUT_GRADIENT: _tr(
            "The model computes this value with gradients switched off, "
            "or separates it from the graph."
        ),
        absence.FORWARD_ONLY: _tr("Choose a target to see gradients."),
        absence.FROZEN: _tr("This parameter does not require gradients."),
        absence.NO_DATA: _tr("The model has shapes but no numbers."),
        absence.UNINITIALISED: _tr("This layer gets its shape when it is first run."),
        absence.CONTAINER: _tr("This node only holds others. Choose one of those below it."),
        absence.IN_TRANSFORM: _tr(
            "This value exists only inside a transform of torch.func, as vmap, for many at once."
        ),
        absence.IN_EXPORTED: _tr(
            "An exported program runs as one graph, which calls no modules that could be looked "
            "into."
        ),
        absence.IN_TORCHSCRIPT: _tr("TorchScript modules cannot be looked into."),
        absence.NO_TENSORS: _tr("There is no tensor here."),
        absence.FUSED: _tr(
            "The plain model computes this layer in one fused kernel, so its inside does not "
            "exist. torch.backends.mha.set_fastpath_enabled(False) runs it unfused."
        ),
    }


def _tr(text: str) -> str:
    return QCoreApplication.translate("absence", text)
