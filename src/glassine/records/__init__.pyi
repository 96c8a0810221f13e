from glassine.records.cells import Flag as Flag
from glassine.records.cells import Reader as Reader
from glassine.records.columns import ConformedColumns as ConformedColumns
from glassine.records.containers import batches as batches
from glassine.records.containers import schema as schema
from glassine.records.flags import Flags as Flags
from glassine.records.reading import read as read
from glassine.records.reading import read_settled as read_settled
from glassine.records.undeclared import read_checked as read_checked

__all__: list[str]
