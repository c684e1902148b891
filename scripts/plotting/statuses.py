"""Statuses of rows in gpuexp's results."""

PASSED = ["passed", "sampled"]  # compared elements are correct; sampled: not all elements were compared
WITH_VALUES = [*PASSED, "unverified"]  # rows with times; unverified: an output has no expected values
