"""Additive models, ordinary and private: grids, sums, boosting, and the published scores."""
