"""The clients beside calls that are written by hand; each in a program of its own language."""
