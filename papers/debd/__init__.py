"""Twenty binary density-estimation benchmarks."""
