"""Five tasks of comparing runs, done in Holter, TensorBoard, MLflow, Aim and Trackio on the same data."""
