from glassine.scrubbing.additive import AdditiveScrub as AdditiveScrub
from glassine.scrubbing.additive import scrub_additive as scrub_additive
from glassine.scrubbing.scrub import ScrubResult as ScrubResult

__all__: list[str]
