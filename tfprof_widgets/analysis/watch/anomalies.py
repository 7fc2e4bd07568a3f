"""stub"""
from dataclasses import dataclass
@dataclass(frozen=True)
class Anomaly:
    kind: str
    title: str
    evidence: str
    first_step: int
    last_step: int | None
    severity: str
    window: int | None
    wants_window: bool
    next_at: int | None = None
    number: int = 0
class AnomalyFinder:
    def __init__(self): self.anomalies=[]; self.n=0
    def add_steps(self, rows):
        self.n+=len(rows)
        if self.n>300 and not self.anomalies: self.anomalies.append(Anomaly("slower","steps are slower","e",300,None,"medium",None,True))
    def add_samples(self, row): pass
    def add_event(self, e): pass
def anomalies_of(log): return []
