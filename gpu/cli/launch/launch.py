"""One call of ``gcn launch``. Invariant: the whole file is checked before anything runs."""

from __future__ import annotations

from gpu.cli.common.files import open_code_object
from gpu.cli.launch.launch_file import LaunchFile
from gpu.cli.run.options import LaunchOptions
from gpu.cli.run.report import run_and_report
from slicc.text.command.exit_status import FINE, FOUND


def launch(options: LaunchOptions) -> int:
    """Run and print. Returns the exit status. Raises the errors of `gpu.cli.error_messages`."""
    file = LaunchFile(options.file)
    wanted = file.wanted()
    program = file.program(open_code_object(file.code_path, options))
    kernels = ", ".join(dict.fromkeys(call.kernel.name for call in program.calls))
    what = f"{len(program.calls):,} dispatches of {kernels}"
    inputs = {"which has the kernels": file.code_path, "the launch file": options.file}
    return FINE if run_and_report(options, program, wanted, what, inputs) else FOUND
