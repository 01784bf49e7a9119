"""How the parameters of an energy are found: proximal steps with exact zeros, Adam, checkpoints."""
