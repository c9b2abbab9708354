"""The judge: blinded evidence, protocol, clamps."""
