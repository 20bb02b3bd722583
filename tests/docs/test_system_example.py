"""The worked example of docs/system.md is a system that works."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from protocols.loader import load_protocol
from runtime.description import SystemDescription
from runtime.description.inference import complete
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options

MANUAL = Path(__file__).parents[2] / "docs" / "system.md"


def test_the_worked_example_passes() -> None:
    text = MANUAL.read_text(encoding="utf-8").split("## Worked example")[1]
    written = SystemDescription.from_toml(text.split("```toml\n")[1].split("```")[0], "system.md")
    assert written.protocol is not None
    protocol = load_protocol(Path(written.protocol).stem)
    protocol = replace(protocol, written=written, description=complete(written, protocol.info))
    assert text.split("```")[0].strip() == (
        "A GPU with four vector caches on two shared banks, one instruction cache, a CPU and a DMA "
        "engine:"
    )
    counts = {name: machine.count for name, machine in protocol.description.machines.items()}
    said = {"TCP": 4, "TCC": 2, "SQC": 1, "CorePair": 1, "DMA": 1}
    assert {name: counts[name] for name in said} == said
    campaign = Campaign(protocol, Options(seed=1, episodes=150))
    for plan in campaign.plans():
        assert {agent.kind for agent in plan.leg.program.agents} >= {"gpu", "cpu"}
        assert campaign.run_leg(plan.leg)[1] is None
    assert campaign.totals.episodes == 150
