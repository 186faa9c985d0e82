"""Detection of breaks in signals next to the loss: gradient norm, learning rate, accuracy, reward, KL."""
