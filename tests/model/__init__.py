"""Tables, problems, patterns."""
