"""Scripted delays: both engines delay the same messages, and a script replays any drawn run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as changed

from runtime.description import DelayedMessage
from runtime.prng import Prng
from runtime.sim.delay_policy import ScriptedDelay
from runtime.system.builder import build_system, channel_names
from tester.program.replay_file import Leg
from tests.sampling import sampled
from tests.tester.native.equality import in_python, leg_of, loaded, natively

PROTOCOLS = ("MI", "MSI", "MSI_Snoop", "MESI_Two_Level", "GPU_VIPER", "MOESI_AMD_Base")


def scripted(leg: Leg, script: list[ScriptedDelay]) -> Leg:
    rows = tuple(DelayedMessage(d.channel, d.message, d.cycles, d.line) for d in script)
    network = changed(leg.description.network, delays="scripted", script=rows)
    return replace(leg, description=changed(leg.description, network=network))


@pytest.mark.parametrize("protocol", sampled(PROTOCOLS, 3))
def test_a_script_replays_a_drawn_run_on_both_engines(protocol: str) -> None:
    """The run key names the contents of memory, too, so it stays; the delays are the script's."""
    leg = leg_of(protocol, "line-duel", 3, 8)
    leg = replace(leg, description=leg.description.override({"network.delays": "heavy_tail"}))
    drawn, run = in_python(protocol, leg)
    policy = run.system.network.delays
    assert policy is not None
    script = policy.drawn()
    assert 20 < len(script) <= 4096
    again = scripted(leg, script)
    assert in_python(protocol, again)[0] == drawn
    assert natively(protocol, again)[0] == drawn
    assert natively(protocol, scripted(leg, script[: len(script) // 2]))[0].trace != drawn.trace


@pytest.mark.parametrize("seed", sampled(list(range(6)), 2))
def test_random_scripts_run_alike(seed: int) -> None:
    prng = Prng(seed)
    for protocol in ("MSI_Snoop", "GPU_VIPER"):
        leg = leg_of(protocol, "line-duel", seed, 12)
        system = build_system(loaded(protocol).info, leg.description, leg.run_key)
        channels = channel_names(system.network, system.buffers)
        lines = sorted(set((leg.program.lane_address[leg.program.active()] & -64).tolist()))
        script = {
            (
                channels[prng.below(len(channels))],
                lines[prng.below(len(lines))],
                1 + prng.below(6),
            ): prng.below(400)
            for _ in range(200)
        }
        made = scripted(leg, [ScriptedDelay(*key, cycles) for key, cycles in script.items()])
        python, native = in_python(protocol, made)[0], natively(protocol, made)[0]
        assert python == native
        assert python.trace != in_python(protocol, scripted(leg, []))[0].trace
