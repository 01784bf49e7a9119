"""The functions of one column: what tests correlate and condition on, and what node models are made of."""
