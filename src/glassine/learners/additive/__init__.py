"""Additive models, ordinary and private: grids, sums, boosting, marginals, and the published scores."""
