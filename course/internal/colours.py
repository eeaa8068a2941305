"""The colours of marks and changed lines in HTML: those of JupyterLab's theme, which may be dark; elsewhere fixed ones.

Figures need none of these: each has a white background of its own.
"""

GREEN = "var(--jp-success-color1, #1a7f37)"
RED = "var(--jp-error-color1, #c9372c)"
YELLOW = "var(--jp-warn-color0, #9a6700)"
GREY = "var(--jp-ui-font-color2, #656d76)"

# Translucent backgrounds, on which the theme's own text is legible.
PALE_GREEN = "rgba(46, 160, 67, 0.3)"
PALE_RED = "rgba(248, 81, 73, 0.3)"
PALE_YELLOW = "rgba(210, 153, 34, 0.35)"
