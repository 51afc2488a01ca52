"""The dimensional extractor of DimMem (section 3.5): LoRA tuning, evaluation."""
