"""Text between the user and us: escaping, command lines, templates, files.

Names of files, folders and machines, descriptions and contents of files may have any character.
Each destination (sources, pages, data, a terminal) is one module here and states its rule; no
other package escapes. `command` is what the commands share. Two modules are not about text, and are
here because this is the leaf that all but `runtime` may import: `lazy_dataclass`, `private_files`.
Invariant: this package imports nothing of ours, and nothing heavy but for typer in
`command.command_line` and, for a template that is filled in, Jinja.
"""
