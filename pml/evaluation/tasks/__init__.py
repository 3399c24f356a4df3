"""The kinds of questions, one file each; `pml.evaluation.registry` finds them."""
