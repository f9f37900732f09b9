def run(tap, box):
    pass
