"""Records: the one door by which cells of every kind of container are read."""
