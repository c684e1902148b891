"""Statuses of rows in gpuexp's results."""

PASSED = ["passed", "sampled"]  # compared elements are correct; sampled: not all elements were compared
