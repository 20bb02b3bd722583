"""The command ``slicc``. Only this package may import `runtime` and `protocols`."""
