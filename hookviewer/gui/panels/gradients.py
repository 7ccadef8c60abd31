"""The gradient of the target with respect to the selected node."""

from hookviewer.engine.plan import Quantity
from hookviewer.gui.panels.base import panels
from hookviewer.gui.panels.mosaic_panel import MosaicPanel
from hookviewer.render.scaling import Scaling


@panels.register("gradients")
class GradientsPanel(MosaicPanel):
    """One tile per channel, zero in the middle of the colour map."""

    name, quantity = "gradients", Quantity.GRAD_OUTPUT
    color_map, scaling = "CET-D1", Scaling(symmetric=True)

    def title(self) -> str:
        """Return the panel's name."""
        return self.tr("Gradients")
