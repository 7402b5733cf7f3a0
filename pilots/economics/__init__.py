"""What a workload costs on two platforms: full cost, utilisation, break-even, sensitivity. Pure Python, decimals only."""
