"""Every term with its meaning: a report names those that it needs, the glossary of the documentation has all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GlossaryTerm:
    """A term in its printed form, and its meaning in one or two sentences."""

    name: str
    meaning: str


_TEXT = """
accuracy | Accuracy, AUROC, log loss | Measured on records that did not train the model. A constant prediction has an \
AUROC of 0.5. In the log loss, probabilities below a millionth count as a millionth. For several classes, the AUROC \
is the mean of each class against the others.
additive model | Additive model | A model whose score is an intercept plus one number per term.
advantage | Membership advantage | True positive rate minus false positive rate: 0 for guessing, 1 for an attack that \
is always right.
balanced accuracy | Balanced accuracy | How often an attack is right about as many members as non-members; guessing \
has 0.5. Compare it with the best naive baseline.
beyond chance | Beyond chance | The interval of the advantage lies above 0, and so large an advantage is rare if \
membership is shuffled. An attack that finds nothing does not show that nothing can be found.
bit | Bit | One bit learned halves the records that are still possible. After 3 bits one of 8 remains, after 10 bits \
one of 1,024.
bits compared | Bits learned | About a training record, on average. One bit halves the records that are still \
possible. A constant reveals nothing about attributes. Models that are neither tree nor list have no bits.
box | Box | A set of records that is a product of one set of values per attribute.
budget | Privacy budget | The epsilon and delta that all releases from a dataset may use together.
canary | Canary | A made-up record in the training data that measures how well presence can be inferred.
certificate | Certificate | The statement of what a release guarantees, with its mechanism events and assumptions.
constraint | Constraint | A public statement that excludes combinations of values, such as "exactly one of these is \
1".
cut point | Public cut point | A threshold that anyone could choose without the data, such as an age of 40.
delta | Failure probability (delta) | Probabilities may exceed the bound by epsilon by at most this much.
disclosure | Disclosure | Inferring a sensitive value of a person from the model.
dist_g | Dist_G | The share of uncertainty about the training records that remains after reading the model.
distance | D_individual, D_overall | Divergence of an attacker's estimate from the truth: for people with the same \
quasi-identifiers, and on average. Lower means more disclosed; 0 is full disclosure.
domain | Domain | What is publicly known beforehand: the possible values of each attribute, and which combinations \
are possible.
dominates | Frontier | The models that no other exceeds in accuracy without revealing more.
edit | Edit | A change of published scores by hand. It is logged, can be undone, and uses no budget.
entropy | Entropy | The average number of bits needed to say which value occurred.
entropy l | Entropy l, t | How many equally frequent values a group has, in effect; and how far its shares are from \
those of all records, from 0 to 1.
entropy left | Entropy left | The uncertainty about a class that remains, in bits.
epsilon | Epsilon | The privacy budget of a fit: the smaller it is, the less the model depends on any one record.
errors compared | RMSE, MAE, R² | Root mean squared error and mean absolute error, in units of what is predicted, on \
records that did not train the model. R² is 1 minus the squared errors as a share of those around the mean.
evidence | Evidence | What a model publishes about the records of a leaf or rule, such as class counts.
exponential mechanism | Exponential mechanism | A mechanism that samples an output with probability proportional to \
exp(-epsilon cost).
exposure curve | Exposure curve | For each share of the training records, the bits learned that this share reaches, \
the most exposed first.
false positive rate | False positive rate | The share of non-members that an attack flags. An attack that is almost \
never wrong identifies members, even if it finds few.
fidelity | Fidelity | How often a tree decides as the black box. Guided, the first of several close trees that agrees \
is used; random trees often agree as well.
gap | Gap | Training accuracy minus test accuracy: the advantage of flagging every record that the model classifies \
correctly.
gap attack | Gap attack | Flags every record that the model, or the closest tree, classifies correctly. Its advantage \
is the share of members flagged minus that of non-members.
group | Group, representative | At least k records that lie close together, and the record that is published for \
them.
holdout | Holdout | Records of the same population that were not used for training.
internal | Attacker of the internal nodes | One who knows that training takes the best split at each node. Classes \
under which another split would have been better are ruled out.
k-anonymity | k-anonymity | Each published record stands for at least k people.
l-diversity | l-diversity | Each group has at least l well represented sensitive values.
leaf | Leaf, rule | The end of a path in a tree, or a line of a rule list. Each captured some of the training \
records.
ledger | Ledger | The durable record of privacy budgets and of what releases used.
literal | Literal | One condition on one attribute.
local | Local optimum | If a tree shows no class counts, the least biased estimate is searched for, and a better one \
may exist.
mechanism | Mechanism | A randomized algorithm whose outputs on neighboring datasets have close distributions, by \
proof.
member | Member | A record that the model or release was made from, or a person who has one. Holdout records are \
similar and were not used.
membership inference | Membership inference | Deciding from the model whether a person's record was in the training \
data.
microaggregation | Microaggregation | Grouping similar records and publishing one representative per group.
midpoint | Midpoint attack | A trained threshold lies exactly halfway between two training values. An attacker with a \
list of candidates can find those two.
near-optimal | Near-optimal tree | A tree whose expected errors exceed the lowest by at most a slack.
neighboring | Neighboring datasets | Datasets that differ by one record added or removed, or by all records of one \
person if the privacy unit is a person.
noise interval | Noise interval | How far the noise in a term's own sums moves its score. It covers neither the noise \
of other terms nor sampling error.
noisy counts | Noisy counts | Counts with random numbers of known scale added. Negative ones are published as 0.
outcome | Outcome | What the model predicts: a class or a number.
output checking | Output checking | The review of results from confidential records before they leave a protected \
environment.
parts compared | Parts compared | The leaves or rules, the default rule included, by which V compares records; for \
other models, their predictions.
policy | Policy | A set of checks, each with a limit.
possible datasets | Possible datasets | The datasets that agree with the domain and with everything that the model \
says.
post-processing | Post-processing | A computation from releases and public information alone. It uses no budget.
privacy unit | Privacy unit | What a guarantee covers: one record, or all records of one person.
probabilistic dataset | Probabilistic dataset | A probability distribution over possible records for each training \
record.
public grid | Public grid | The public cut points of a number.
pure leaf | Pure leaf | A leaf whose records all have one class.
quasi | Quasi-identifiers | Attributes that an attacker may already know of people, such as age and town.
record | Record | One training example: a value for each attribute, and a label.
reliance | Reliance | The rise in a tree's errors once an attribute is drawn independently of everything else.
resolution | Resolution | The step in which a number is recorded. It makes the number of possible values finite.
scrub | Scrubbed copy | A copy of a model that reveals less: public thresholds, coarse or no counts. It has no \
guarantee.
sensitive attribute | Sensitive attribute | The attribute that an attacker wants to infer.
shadow model | Shadow model | A model that an attacker trains in the same way on records of known membership.
shape function | Shape function | The scores of all bins of a term.
shift | Distribution shift | A difference between members and holdout that exists without the model.
suppressed | Suppressed | "Fewer than 10" is a small number that is not shown. "Hidden" is a larger one that would \
reveal a small one by subtraction. Shares are rounded down.
surrogate | Surrogate | An interpretable model trained to answer as a black box does.
t-closeness | t-closeness | In no group is the sensitive attribute distributed further than t from everyone.
term | Term, bin | A term adds a score for the value of one attribute, or of two together. Its bins are intervals of \
a number, or groups of categories, with one score; its shape function is the scores of all bins.
verdict | Verdict | Within policy, outside policy, or inconclusive.
void | Void guarantee | A claim that does not hold, for a stated reason such as a fixed random seed.
vulnerability | Vulnerability, V | How often the leaf that a record falls into reveals whether it trained the model; \
0.5 is guessing. In brackets is the value if membership made no difference. Leaves reveal more than predictions: \
compare like with like.
"""

TERMS = {
    key: GlossaryTerm(name, meaning)
    for key, name, meaning in (line.split(" | ") for line in _TEXT.strip().splitlines())
}
"""The terms, by the names that reports call them by."""
