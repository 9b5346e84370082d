"""Words as people write them: typed text without code and quotes, stems, and words of little meaning."""
