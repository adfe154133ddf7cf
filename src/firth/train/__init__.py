"""Training with the extra `torch`: adapt, distil and fine-tune encoders."""
