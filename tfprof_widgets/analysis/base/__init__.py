"""What every analysis builds on: names and groups of events, selections, units, words."""
