"""Steps host by host -> how workers compare: alignment, roles, stragglers, communication, scaling."""
