"""Trees and rule lists chosen from all of a size, by counting; private ones by the exponential mechanism."""
