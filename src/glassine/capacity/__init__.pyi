from glassine.capacity.codes import additive_bits as additive_bits
from glassine.capacity.codes import rule_list_bits as rule_list_bits
from glassine.capacity.codes import scorecard_bits as scorecard_bits
from glassine.capacity.codes import tree_bits as tree_bits
from glassine.capacity.codes import tree_leaves as tree_leaves
from glassine.capacity.codes import tree_length as tree_length
from glassine.capacity.counts import complexity_bits as complexity_bits
from glassine.capacity.counts import counts_given_frame as counts_given_frame
from glassine.capacity.counts import free_counts_bits as free_counts_bits
from glassine.capacity.counts import mean_fit_bits as mean_fit_bits
from glassine.capacity.counts import rounded_table_bits as rounded_table_bits
from glassine.capacity.counts import table_bits as table_bits
from glassine.capacity.draws import conditional_bits as conditional_bits
from glassine.capacity.draws import design_bits as design_bits
from glassine.capacity.draws import draw_dependence as draw_dependence
from glassine.capacity.draws import strata_bits as strata_bits
from glassine.capacity.exposure import certain_persons as certain_persons
from glassine.capacity.exposure import exposed_persons as exposed_persons
from glassine.capacity.frontiers import ball_advantage as ball_advantage
from glassine.capacity.frontiers import design_advantage as design_advantage
from glassine.capacity.frontiers import fresh_advantage as fresh_advantage
from glassine.capacity.frontiers import strata_advantage as strata_advantage
from glassine.capacity.success import design_success as design_success
from glassine.capacity.success import fresh_success as fresh_success

__all__: list[str]
