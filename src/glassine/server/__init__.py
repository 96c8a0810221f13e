"""A service that answers with decisions and explanations, and signed files of releases."""

from glassine.privacy.signing import make_keys, read_public_key
from glassine.server.access import Access, read_tokens
from glassine.server.app import create_app
from glassine.server.limits import Limits
from glassine.server.running import listen, run
from glassine.server.signing import ReleaseFile, read_release, sign_release

__all__ = [
    "Access",
    "Limits",
    "ReleaseFile",
    "create_app",
    "listen",
    "make_keys",
    "read_public_key",
    "read_release",
    "read_tokens",
    "run",
    "sign_release",
]
