"""From a data set to a package: what the stages of the pipeline and `pml train` do."""
