"""Which exceptions become a message of ``gcn``, and the exit status that goes with it.

Errors in the user's input are status 2; errors of a protocol while a kernel runs are findings,
status 1. Invariant: a message names the input; text from a file is escaped where it is printed.
"""

from __future__ import annotations

from slicc.text.command.exit_status import FOUND, Stop


def input_error(error: Exception) -> Stop | None:
    """None for a fault of the model itself."""
    from gpu.cli.common.files import OutputError
    from gpu.cli.common.grid_size import SizeError
    from gpu.cli.run.argument_parser import ArgumentTextError
    from gpu.errors import GpuError
    from gpu.host.core_files.reader import CoreFileError
    from gpu.litmus.kernel import TooLarge as KernelTooLarge
    from gpu.memory.coherent.coherent_memory import MemoryStuck
    from gpu.memory.coherent.factory import EngineMissing
    from gpu.memory.coherent.native_backend import OutOfRoom
    from gpu.memory.coherent.recording_file import BadRecording
    from gpu.memory_model.events import TooLarge
    from protocols.loader import ProtocolBroken, ProtocolMissing
    from runtime.description import DescriptionError
    from runtime.errors import ProtocolError
    from slicc.scenario_text.errors import ScenarioError
    from tester.program.replay_file import ReplayError

    if isinstance(error, ProtocolBroken | ScenarioError):
        return Stop(str(error), complete=True)
    if isinstance(error, (ProtocolError, MemoryStuck)):
        return Stop(f"the protocol failed: {error}", FOUND)
    given = (
        ArgumentTextError, SizeError, OutputError, GpuError, ProtocolMissing,
        DescriptionError, OutOfRoom, EngineMissing, BadRecording, ReplayError, CoreFileError,
        TooLarge, KernelTooLarge,
    )  # fmt: skip
    if isinstance(error, MemoryError):
        return Stop("out of memory: the request is larger than the memory that is available")
    return Stop(str(error)) if isinstance(error, given) else None
