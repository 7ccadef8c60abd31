"""Look inside any PyTorch model, forward and backward."""

__version__ = "0.1.0"
