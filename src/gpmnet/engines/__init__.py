"""The engines: each a short file that puts parts together."""
