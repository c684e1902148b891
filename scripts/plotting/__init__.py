"""Modules of plot.py, which draws figures from the results of gpuexp runs."""
