"""Where tensors meet numbers: strategies that return a model and its certificate together."""
