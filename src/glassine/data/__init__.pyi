from glassine.data.count_table import CountTable as CountTable
from glassine.data.count_table import bin_histograms as bin_histograms
from glassine.data.count_table import conjunction_counts as conjunction_counts
from glassine.data.inference import infer_domain as infer_domain
from glassine.data.labels import Sample as Sample
from glassine.data.outside import violations as violations
from glassine.records.cuts import cuts_of as cuts_of

__all__: list[str]
