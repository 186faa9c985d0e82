"""A receiver in place of Slack, for the commands of the documentation."""

from tests.support.receivers import slack

__all__ = ["slack"]
