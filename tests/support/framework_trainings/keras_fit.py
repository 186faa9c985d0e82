"""`fit` of Keras on torch with Holter's callback."""

from __future__ import annotations

import os

os.environ.setdefault("KERAS_BACKEND", "torch")
import keras
import numpy as np

from holter.integrations.keras import KerasCallback

model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
inputs, targets = np.ones((32, 4), "float32"), np.ones((32, 1), "float32")
callback = KerasCallback("tests", "keras")
model.fit(inputs, targets, batch_size=8, epochs=3, validation_split=0.25, callbacks=[callback], verbose=0)
callback.finish()
