"""Models as code and text."""
