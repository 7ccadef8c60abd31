import pytest

from hookviewer.engine import absence
from hookviewer.gui.panels.absence_text import absence_text

NAMES = [value for name, value in vars(absence).items() if name.isupper()]


@pytest.mark.parametrize("name", [*NAMES, absence.not_differentiable("torch.int64")])
def test_every_absence_is_named_and_explained(qapp, name):
    first, nothing, sentence = absence_text(name).split("\n", 2)
    assert (first, nothing) == (name, "")
    assert sentence.endswith(".")


def test_what_runs_fused_can_be_run_unfused(qapp):
    assert "torch.backends.mha.set_fastpath_enabled(False)" in absence_text(absence.FUSED)


def test_an_absence_without_an_explanation_is_still_named(qapp):
    assert absence_text("something new") == "something new"
