"""What becomes of a row, as gpuexp writes it."""

PASSED = ["passed", "sampled"]  # what was compared is right; the second: not all was compared
