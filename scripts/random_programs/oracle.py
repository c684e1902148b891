def report(dump):
    pass
