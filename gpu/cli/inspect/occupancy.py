"""The output of ``gcn occupancy``."""

from __future__ import annotations

from collections.abc import Iterator

from gpu.cli.common.files import open_code_object, runnable_kernel
from gpu.cli.common.grid_size import SizeError, read_size
from gpu.cli.options import OccupancyOptions
from gpu.code_object import Kernel
from gpu.dispatch import occupancy as resources
from gpu.dispatch.launch import Demand
from gpu.dispatch.occupancy import LDS_GRANULE, SGPR_GRANULE, Limits
from gpu.wave_size import LANES, round_up
from slicc.text.terminal import printable

_MOST_ITEMS = 1024


def occupancy(options: OccupancyOptions) -> None:
    """Print how many groups of a kernel one compute unit holds, and what limits them."""
    kernel = runnable_kernel(open_code_object(options.file, options), options.kernel)
    print("\n".join(_as_text(kernel, options.group, options.local)))


def _as_text(kernel: Kernel, group: str, local: int) -> Iterator[str]:
    """``group``: as written, empty for what the kernel requires. Raises `SizeError`."""
    required = kernel.metadata.required_group
    size = read_size(group, "group", _MOST_ITEMS)[0] if group else required or (LANES, 1, 1)
    items = size[0] * size[1] * size[2]
    if items > _MOST_ITEMS:
        raise SizeError(
            f"group {group!r} has {items} work-items; a group has at most {_MOST_ITEMS}"
        )
    if not 0 <= local <= 1 << 20:
        raise SizeError(f"local: {local} is no number of bytes of LDS")
    descriptor, limits = kernel.descriptor, Limits()
    demand = Demand(
        waves=round_up(items, LANES) // LANES,
        vgprs=descriptor.vgprs,
        sgprs=round_up(descriptor.sgprs, SGPR_GRANULE),
        lds=descriptor.group_size + local,
        scratch=descriptor.scratch,
    )
    found = resources.occupancy(limits, demand)
    most = limits.simds * limits.waves_per_simd
    yield f"kernel {printable(kernel.name)}, groups of {size[0]} x {size[1]} x {size[2]} work-items"
    yield (
        f"  a group takes   {demand.waves} waves of {demand.vgprs} VGPRs and {demand.sgprs} SGPRs, "
        f"{round_up(demand.lds, LDS_GRANULE)} bytes of LDS"
    )
    yield f"  a unit holds    {found.groups} groups, {found.waves} of {most} waves"
    yield f"  limited by      {found.limit}"
    if not found.groups:
        yield "  such a group can never run"
