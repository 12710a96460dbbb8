"""The network of a sandbox: a proxy outside, which allows some hosts and the calls of the model."""
