"""What the vectors try: rules and calls, without answers. One module per file of vectors."""

FILES = {}
