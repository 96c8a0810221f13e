"""Files of tables before an engine reads them: which form they have, and what they unpack to."""
