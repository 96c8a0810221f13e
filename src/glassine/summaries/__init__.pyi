from glassine.summaries.estimator import PrivateSummary as PrivateSummary
from glassine.summaries.estimates import Dependence as Dependence
from glassine.summaries.estimates import Estimate as Estimate

__all__: list[str]
