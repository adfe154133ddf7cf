"""Training with the extra `torch`: the loop, and fine-tuning of encoders."""
