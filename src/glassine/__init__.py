"""Glassine: the privacy of interpretable models."""

# As a command, Ctrl-C has a handler before anything else is imported; that of the command line then takes its place.
import sys

if (getattr(sys, "argv", None) or [""])[0].replace("\\", "/").rpartition("/")[2] in ("-m", "glassine", "glassine.exe"):
    import _signal  # type: ignore[import-not-found]  # signal without its enumerations, which take longer to import
    import os

    def _interrupted(number: int, frame: object) -> None:
        try:
            os.write(2, b"glassine: interrupted.\n")
        finally:
            os._exit(128 + number)

    # A shell may have said that Ctrl-C is ignored.
    if _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
        _signal.signal(_signal.SIGINT, _interrupted)

from glassine.exports import exports_of

__version__ = "0.1.0"

_LEARNERS = (
    *("GreedyRuleListClassifier", "MultiwayTreeClassifier", "OptimalRuleListClassifier", "OptimalTreeClassifier"),
    *("OptimalTreeRegressor", "PrivateEBMClassifier", "PrivateEBMRegressor", "PrivateGreedyRuleListClassifier"),
    *("PrivateRuleListClassifier", "PrivateScorecardClassifier", "PrivateSearchCV", "PrivateSummary"),
    *("PrivateTreeClassifier", "PrivateTreeRegressor", "ScorecardClassifier"),
)
_MOVED = dict.fromkeys(_LEARNERS, "glassine.learners") | {
    "PrivacyLeakWarning": "glassine.errors",
    "SurrogateExplainer": "glassine.surrogates",
    "microaggregate": "glassine.microaggregation",
    "reconstruct_records": "glassine.attacks",
    "summarize_model": "glassine.models",
}
"""Names that early checkouts had at the top. They are found, with a warning, until the first release."""

__getattr__, __dir__ = exports_of(__name__, __file__, moved=_MOVED)
