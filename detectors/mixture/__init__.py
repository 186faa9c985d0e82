"""Detection of changes in the mixture of datasets, where the losses of several datasets are logged."""
