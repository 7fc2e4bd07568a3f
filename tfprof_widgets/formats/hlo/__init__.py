"""Compiled HLO modules -> tables of instructions."""
