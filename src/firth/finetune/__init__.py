"""Fine-tuning: any sentence encoder taught by labels, chosen by dev, measured on what was kept."""
