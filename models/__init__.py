"""Training sets to bundles: the salience gate, the dimensional extractor, and their export."""

if __name__ == "models":
    raise ImportError("this folder is installed as engrain.models: write `import engrain.models`")
