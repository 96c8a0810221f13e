from glassine.privacy.signing import make_keys as make_keys
from glassine.privacy.signing import read_public_key as read_public_key
from glassine.server.access import Access as Access
from glassine.server.access import read_tokens as read_tokens
from glassine.server.app import create_app as create_app
from glassine.server.request_limits import Limits as Limits
from glassine.server.running import listen as listen
from glassine.server.running import run as run
from glassine.server.signed_releases import ReleaseFile as ReleaseFile
from glassine.server.signed_releases import read_release as read_release
from glassine.server.signed_releases import sign_release as sign_release

__all__: list[str]
