"""Facts that compare hosts: aligned clocks, stragglers, communication, roles."""
