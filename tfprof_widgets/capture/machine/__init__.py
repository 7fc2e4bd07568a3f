"""The machine beside the profiler: samples of CPU, memory, network and GPUs."""
