"""What the timeline shows beside events: counters, flows and the graph of events."""
