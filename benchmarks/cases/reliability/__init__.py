"""What is counted over random seeds: faults of audits, methods, readers and killed jobs (`targets.TARGETS`)."""
