"""Tables, problems and what is required of a publication."""
