from glassine.privacy.accounting import CauchyNoise as CauchyNoise
from glassine.privacy.accounting import CountBound as CountBound
from glassine.privacy.accounting import DiscreteGaussianNoise as DiscreteGaussianNoise
from glassine.privacy.accounting import DiscreteLaplaceNoise as DiscreteLaplaceNoise
from glassine.privacy.accounting import Event as Event
from glassine.privacy.accounting import GaussianMax as GaussianMax
from glassine.privacy.accounting import GaussianNoise as GaussianNoise
from glassine.privacy.accounting import LaplaceNoise as LaplaceNoise
from glassine.privacy.accounting import NoisyMax as NoisyMax
from glassine.privacy.accounting import Parallel as Parallel
from glassine.privacy.accounting import RepeatedSelection as RepeatedSelection
from glassine.privacy.accounting import Selection as Selection
from glassine.privacy.accounting import SmoothCauchyMax as SmoothCauchyMax
from glassine.privacy.accounting import SmoothCauchyNoise as SmoothCauchyNoise
from glassine.privacy.accounting import Stated as Stated
from glassine.privacy.certificate import Certificate as Certificate
from glassine.privacy.ledger import Account as Account
from glassine.privacy.ledger import BudgetChange as BudgetChange
from glassine.privacy.ledger import Entry as Entry
from glassine.privacy.ledger import Ledger as Ledger
from glassine.privacy.ledger import Payment as Payment
from glassine.privacy.ledger import Verification as Verification
from glassine.privacy.randomness import Randomness as Randomness
from glassine.privacy.receipt import Receipt as Receipt
from glassine.privacy.unit import RECORD as RECORD
from glassine.privacy.unit import PrivacyUnit as PrivacyUnit

__all__: list[str]
