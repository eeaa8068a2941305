"""Attributes that no script may use. The reading finds them in its text, and the sandbox refuses them where it runs."""

# Methods of argparse: the second argument is an object to set attributes of.
PARSERS = {"parse_args", "parse_known_args", "parse_intermixed_args", "parse_known_intermixed_args"}
# What changes rights, or links a second name to a file, by which it can be written unseen; and the bases of a class.
REFUSED = {"chmod", "hardlink_to", "lchmod", "mro", "symlink_to"}
