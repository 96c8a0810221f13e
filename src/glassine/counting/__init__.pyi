from glassine.counting.regions import MAX_STEPS as MAX_STEPS
from glassine.counting.regions import Region as Region
from glassine.counting.regions import RegionCounter as RegionCounter
from glassine.counting.space import Box as Box
from glassine.counting.space import Measure as Measure
from glassine.counting.space import Space as Space

__all__: list[str]
