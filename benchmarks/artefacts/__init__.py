"""What the window shows: runs of the command line, of the library and of the readers, on inputs that are made here."""
