"""The pages of the register, by area: what each finding means and what to write instead."""
