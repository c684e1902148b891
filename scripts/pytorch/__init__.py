"""Modules of bench_pytorch.py. operations, protocol, report, timing, tolerances and training_work need neither PyTorch nor Triton."""
