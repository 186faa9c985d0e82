"""Probable causes of findings: logged changes, restarts and slow ranks that precede them."""

from holter.detectors.causes.explain import explain_findings

__all__ = ["explain_findings"]
