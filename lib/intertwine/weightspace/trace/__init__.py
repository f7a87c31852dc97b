"""First phase: a model and example inputs come in, one run of the model goes out, call by call."""
