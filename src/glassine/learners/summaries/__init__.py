"""Private summaries: one release of tables, from which models follow without spending again."""
