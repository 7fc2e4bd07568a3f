"""Chrome's trace event format -> `Trace`."""
