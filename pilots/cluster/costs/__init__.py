"""Times of workloads from sizes, devices and constants; every formula works on arrays of cases at once."""
