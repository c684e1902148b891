"""Figures from the CSV of a gpuexp run: what plot.py is made of."""
