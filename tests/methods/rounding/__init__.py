"""Parts of methods."""
