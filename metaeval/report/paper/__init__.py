"""The tables of a paper: several data sets side by side, made from results alone."""
