"""Dialogues to training sets: corpus readers, gate and extraction corpora."""

if __name__ == "data_builders":
    raise ImportError("this folder is installed as engrain.data_builders: write `import engrain.data_builders`")
