"""What training a gate and tuning an extractor share: batch plans, checkpoints, the trainer, resume."""
