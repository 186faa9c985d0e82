"""What watches machines: GPUs' counters, exporters' pages, kernel logs. It has times, and no steps."""
