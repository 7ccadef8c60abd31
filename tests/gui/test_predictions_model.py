import pytest
from PySide6.QtCore import Qt

from hookviewer.gui.models.predictions import CLASS_ROLE, PROBABILITY_ROLE, PredictionsModel

CATS = ((285, "Egyptian cat", 0.7166), (282, "tiger cat", 0.1472))


@pytest.fixture
def model(qapp):
    model = PredictionsModel()
    model.set_predictions(CATS)
    return model


@pytest.mark.parametrize("force_py", [False, True], ids=["Qt's", "pytest-qt's"])
@pytest.mark.parametrize("predictions", [CATS, ()], ids=["cats", "none"])
def test_predictions_keep_qts_rules(model, qtmodeltester, predictions, force_py):
    qtmodeltester.check(model, force_py=force_py)
    model.set_predictions(predictions)
    assert model.rowCount() == len(predictions)


def test_a_row_is_a_class_and_its_probability(model):
    rows = [[model.index(row, column).data() for column in (0, 1)] for row in (0, 1)]
    assert rows == [["Egyptian cat", "0.717"], ["tiger cat", "0.147"]]


def test_a_row_knows_its_class_and_how_probable_it_is(model):
    index = model.index(1, 1)
    assert index.data(CLASS_ROLE) == 282
    assert index.data(PROBABILITY_ROLE) == pytest.approx(0.1472)
    assert index.data(Qt.ItemDataRole.ToolTipRole) == "tiger cat, class 282: make it the target"


def test_the_columns_have_titles(model):
    titles = [model.headerData(column, Qt.Orientation.Horizontal) for column in (0, 1)]
    assert titles == ["class", "probability"]
