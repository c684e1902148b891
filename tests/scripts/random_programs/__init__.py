"""Random PTX programs: instructions, generation, and their results by the PTX ISA."""
