"""What is compared: Engrain's variants, plain baselines and peers, each behind the same small adapter."""
