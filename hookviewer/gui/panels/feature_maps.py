"""The feature maps of the selected node."""

from hookviewer.engine.plan import Quantity
from hookviewer.gui.panels.base import panels
from hookviewer.gui.panels.mosaic_panel import MosaicPanel


@panels.register("feature-maps")
class FeatureMapsPanel(MosaicPanel):
    """One tile per channel of what the node returned."""

    name, quantity = "feature-maps", Quantity.OUTPUT

    def title(self) -> str:
        """Return the panel's name."""
        return self.tr("Feature maps")
