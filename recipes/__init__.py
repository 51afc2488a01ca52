"""What a person runs: one function a verb, one typed recipe object a run."""

if __name__ == "recipes":
    raise ImportError("this folder is installed as engrain.recipes: write `import engrain.recipes`")
