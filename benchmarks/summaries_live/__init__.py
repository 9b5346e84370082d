"""Summaries by real models, judged by another real model; it needs keys and costs money."""
