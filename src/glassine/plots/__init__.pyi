from glassine.plots.displays import BudgetDisplay as BudgetDisplay
from glassine.plots.displays import ExposureDisplay as ExposureDisplay
from glassine.plots.displays import FrontierDisplay as FrontierDisplay
from glassine.plots.displays import MembershipDisplay as MembershipDisplay
from glassine.plots.displays import ScrubDisplay as ScrubDisplay
from glassine.plots.drawing import SvgDrawing as SvgDrawing
from glassine.plots.drawing import draw_coefficients as draw_coefficients
from glassine.plots.drawing import draw_contributions as draw_contributions
from glassine.plots.drawing import draw_domain as draw_domain
from glassine.plots.drawing import draw_rules as draw_rules
from glassine.plots.drawing import draw_shapes as draw_shapes
from glassine.plots.drawing import draw_tree as draw_tree
from glassine.plots.model_displays import CoefficientDisplay as CoefficientDisplay
from glassine.plots.model_displays import CutPointDisplay as CutPointDisplay
from glassine.plots.model_displays import ShapeDisplay as ShapeDisplay
from glassine.plots.notebook import HtmlDisplay as HtmlDisplay
from glassine.plots.notebook import show as show

__all__: list[str]
