"""The numbers that the papers print, one module a paper, and the settings that they name.

Nothing here is ours: what we measure, and with which settings, is in the family of the paper.
"""
