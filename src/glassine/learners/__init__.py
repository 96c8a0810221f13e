"""Learners: scikit-learn estimators that return published models, private ones with a certificate."""
