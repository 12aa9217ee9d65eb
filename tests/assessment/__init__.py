"""Rules, marks, insiders, unions."""
