"""Files of the field, one module a format."""
