"""Measurements: ratios and costs taken in turn in one run, never asserted in a test."""
