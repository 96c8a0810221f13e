"""Scrubbing: the least changes that bring a model within a policy."""
