"""Readers of boosted trees."""
