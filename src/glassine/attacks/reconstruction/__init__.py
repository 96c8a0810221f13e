"""Reconstruction of training data: as a probabilistic dataset, jointly, and record by record."""
