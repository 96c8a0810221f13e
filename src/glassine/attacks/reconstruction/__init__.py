"""Reconstruction of training data: as a probabilistic data set, jointly, and record by record."""
