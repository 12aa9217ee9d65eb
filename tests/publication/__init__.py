"""What may leave the building."""
