"""Which data the loss is made of, where several datasets are logged apart."""
