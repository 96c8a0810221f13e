"""Readers of models as programs print them."""
