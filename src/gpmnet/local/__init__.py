"""The scalable engine: local regressions and score tests, from a few variables to a hundred thousand."""
