"""Models of scikit-learn and of the libraries that follow it."""
