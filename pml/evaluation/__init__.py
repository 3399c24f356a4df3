"""Measuring methods on data sets: what is asked, what answers, how good that was (LE-8, RW-6)."""
