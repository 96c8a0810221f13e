from glassine.summaries.estimates import Dependence as Dependence
from glassine.summaries.estimates import Estimate as Estimate
from glassine.summaries.estimator import PrivateSummary as PrivateSummary

__all__: list[str]
