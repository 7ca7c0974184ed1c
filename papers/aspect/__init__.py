"""Kabán, Bingham & Hirsimäki, Learning to Read Between the Lines: The Aspect Bernoulli Model (SDM 2004)."""
