"""The receivers, for the tests of channels."""

from tests.support.endpoints import endpoint
from tests.support.receivers import certificate, closed_port, mail_server, slack

__all__ = ["certificate", "closed_port", "endpoint", "mail_server", "slack"]
