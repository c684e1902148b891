"""Modules of bench_pytorch.py."""
