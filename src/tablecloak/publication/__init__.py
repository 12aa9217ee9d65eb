"""What may leave the building: a publication, its layout, and its writers."""
