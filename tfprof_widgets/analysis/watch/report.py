"""stub"""


def watch_report(log):
    return f"{len(log.steps)} steps"


def watch_summary(log):
    return f"{len(log.steps)} steps"
