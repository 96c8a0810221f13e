from glassine.comparison.candidates import CANDIDATES as CANDIDATES
from glassine.comparison.candidates import Candidate as Candidate
from glassine.comparison.candidates import Shape as Shape
from glassine.comparison.recommending import Recommendation as Recommendation
from glassine.comparison.recommending import recommend as recommend
from glassine.comparison.running import Task as Task
from glassine.comparison.running import compare as compare
from glassine.comparison.values import Comparison as Comparison
from glassine.comparison.values import Figures as Figures
from glassine.comparison.values import Mean as Mean
from glassine.comparison.values import Result as Result
from glassine.comparison.values import Row as Row

__all__: list[str]
