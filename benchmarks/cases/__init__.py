"""What is measured: parts and their cases (`parts.PARTS`), instances, figures of papers, seeds of reliability."""
