"""Methods, one test for each, and the parts they share."""
