"""The comparison of families: on tables of known structure, and on real ones."""
