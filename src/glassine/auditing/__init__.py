"""Audits: what is measured of a published model, and judged against a policy."""
