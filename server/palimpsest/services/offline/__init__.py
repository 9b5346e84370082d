"""What is answered without a model."""
