"""Screens and the sheets that lie over them."""
