from glassine.comparison.candidates import CANDIDATES as CANDIDATES
from glassine.comparison.candidates import Candidate as Candidate
from glassine.comparison.candidates import Shape as Shape
from glassine.comparison.comparison_results import Comparison as Comparison
from glassine.comparison.comparison_results import Figures as Figures
from glassine.comparison.comparison_results import Mean as Mean
from glassine.comparison.comparison_results import Result as Result
from glassine.comparison.comparison_results import Row as Row
from glassine.comparison.comparison_runs import Task as Task
from glassine.comparison.comparison_runs import compare as compare
from glassine.comparison.recommending import Recommendation as Recommendation
from glassine.comparison.recommending import recommend as recommend

__all__: list[str]
