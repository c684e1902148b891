"""Random programs in PTX: their instructions, their making, and what the PTX ISA says they compute."""
