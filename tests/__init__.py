"""All tests. Folders mirror the packages; tests of the package as a whole, and helpers, are here."""
