"""Text between the user and us: escaping, command lines, templates, files.

Names of files, folders and machines, descriptions and contents of files may have any character.
Each destination (sources, pages, data, a terminal) is one module here and states its rule; no
other package escapes. `command` is what the commands share. What is not about text is here because
this is the leaf that all but `runtime` may import: `lazy_dataclass`, and what is `kept` between
runs. Invariant: this package imports nothing of ours, and nothing heavy but for typer in
`command.command_line`, lark in `kept.grammar_tables` and, for a template that is filled in, Jinja.
"""
