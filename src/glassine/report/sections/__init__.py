"""One function for each kind of finding: it returns what a report says of it, as a section."""
