"""What holds the records of a private fit, and all that is released of them."""
