"""A host program on the device of a command line: runs it, judges it, prints what was asked for.

Invariant: files are written once everything has run; a core file when something has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from gpu.cli.common.files import check_outputs
from gpu.cli.run import results
from gpu.cli.run.counters import line_about_lds, lines_about_caches, progress_line, work_of
from gpu.cli.run.device import OpenedDevice, keep_recording, open_device
from gpu.cli.run.host_program import HostProgram, allocate, carry_out, differences
from gpu.cli.run.options import DeviceOptions
from gpu.cli.run.profile_report import profile_lines, trace_events
from gpu.errors import GpuError
from gpu.host.buffer import Buffer
from gpu.host.core_files.writer import write_core
from slicc.text.command.progress import Progress
from slicc.text.data import json_text
from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass
from slicc.text.terminal import printable, printable_lines


@dataclass(frozen=True, slots=True)
class Wanted:
    """What buffers should hold at the end, and the files they are written to, by their names."""

    expected: Mapping[str, npt.NDArray[Any]]
    files: Mapping[str, Path]


def run_and_report(
    options: DeviceOptions,
    program: HostProgram,
    wanted: Wanted,
    what: str,
    inputs: Mapping[str, Path],
) -> bool:
    """Whether all was right. ``what`` ran, from the ``inputs``, which have names for messages.
    Raises the errors of `gpu.cli.error_messages`."""
    _check_files(options, wanted, inputs)
    opened = open_device(options)
    device = opened.device
    buffers = allocate(opened.context, program)
    with Progress(progress_line(device), not (options.no_progress or options.quiet)):
        try:
            carry_out(opened.context, program, buffers)
        except GpuError as error:
            if options.core is not None:
                write_core(device, options.core, error, opened.process)
            raise
    right = _judge(options, program, wanted, buffers) and not device.findings
    for finding in device.findings:
        print(printable_lines(f"found: {finding}"))
    _print_results(options, program, wanted, opened, buffers, what)
    if options.stats is not None:
        text = json_text(_numbers(program, opened), indent=2) + "\n"
        write_whole(options.stats, text.encode())
    if options.trace_out is not None and device.profile is not None:
        write_whole(options.trace_out, trace_events(device.profile).encode())
    if options.record is not None:
        keep_recording(device, options, options.record)
    return right


def _check_files(options: DeviceOptions, wanted: Wanted, inputs: Mapping[str, Path]) -> None:
    given = {
        "--stats": options.stats,
        "--record": options.record,
        "--trace-out": options.trace_out,
        "--core": options.core,
    }
    outputs = {f"the saved {name}": path for name, path in wanted.files.items()}
    outputs |= {option: path for option, path in given.items() if path is not None}
    system = {} if options.system is None else {"the system's description": options.system}
    check_outputs(outputs, {**inputs, **system})


def _judge(
    options: DeviceOptions, program: HostProgram, wanted: Wanted, buffers: Mapping[str, Buffer]
) -> bool:
    wrong = []
    for name, expected in wanted.expected.items():
        text = results.difference(buffers[name].numpy(), expected, options.tolerance)
        if text is not None:
            wrong.append(f"{printable(name)}: {text}")
        elif not options.quiet:
            print(f"as expected: {printable(name)}")
    if options.verify:
        differing = differences(program, buffers, options.cus, options.tolerance)
        wrong += [f"{text} (without caches and time)" for text in differing]
        if not differing and not options.quiet:
            print(f"verified: {len(buffers)} buffers are as without caches and time")
    for text in wrong:
        print(f"wrong: {text}")
    return not wrong


def _print_results(
    options: DeviceOptions,
    program: HostProgram,
    wanted: Wanted,
    opened: OpenedDevice,
    buffers: Mapping[str, Buffer],
    what: str,
) -> None:
    for name, argument in program.buffers.items():
        if argument.shown:
            print(f"{printable(name)} = {results.shown(buffers[name].numpy())}")
    for name, path in wanted.files.items():
        results.write(buffers[name].numpy(), path)
    if options.quiet:
        return
    print(f"{printable(what)}: {work_of(opened.device)}, {opened.ticks}")
    beyond = line_about_lds(opened.device)
    if beyond is not None:
        print(beyond)
    for line in lines_about_caches(opened.device.memory):
        print(line)
    if options.profile and opened.device.profile is not None:
        for line in profile_lines(opened.device.profile):
            print(printable_lines(line))
    print(f"fidelity: {opened.fidelity}")


def _numbers(program: HostProgram, opened: OpenedDevice) -> dict[str, Any]:
    work = work_of(opened.device)
    first, *others = program.calls
    calls = {"calls": len(program.calls)} if others else {}
    return {
        "kernel": first.kernel.name,
        "grid": first.grid,
        "group": first.group,
        **calls,
        "fidelity": opened.fidelity,
        "groups": work.groups,
        "waves": work.waves,
        "findings": [str(finding) for finding in opened.device.findings],
        **opened.device.stats,
    }
