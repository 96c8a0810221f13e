from glassine.auditing.api import audit as audit
from glassine.auditing.audit_settings import AuditSettings as AuditSettings
from glassine.auditing.audit_settings import DisclosureSettings as DisclosureSettings
from glassine.auditing.audit_settings import MembershipSettings as MembershipSettings
from glassine.auditing.criterion import Check as Check
from glassine.auditing.criterion import Criterion as Criterion
from glassine.auditing.findings import Findings as Findings
from glassine.auditing.policy import Policy as Policy
from glassine.auditing.remedy import Remedy as Remedy
from glassine.auditing.several_models import SeveralModels as SeveralModels
from glassine.auditing.statements import StatedClass as StatedClass
from glassine.auditing.statements import Statements as Statements

__all__: list[str]
