"""A shape leaves nothing to the seed but which accesses are made, in what order and when."""

from __future__ import annotations

from dataclasses import replace

import pytest

import tester.campaign.drawing.leg
from protocols.loader import load_protocol
from tester.campaign.campaign import Campaign
from tests.benchmarks.shapes import SHAPES
from tests.sampling import sampled


@pytest.mark.parametrize("name", sampled(SHAPES, 9))
def test_seeds_differ_in_nothing_that_makes_work(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol = load_protocol("GPU_VIPER", (), None)
    configs = []
    generate = tester.campaign.drawing.leg.generate_program

    def noted(config, *rest):
        configs.append(config)
        return generate(replace(config, episodes=2), *rest)

    monkeypatch.setattr(tester.campaign.drawing.leg, "generate_program", noted)
    options = SHAPES[name].shortened(100).options(one_request_per_lane=False)
    legs = [Campaign(protocol, replace(options, seed=s)).plan(0).leg for s in range(1, 4)]
    assert {leg.description.to_toml() for leg in legs} == {legs[0].description.to_toml()}
    assert configs == [configs[0]] * len(configs)
    assert len(configs) == len(legs)
    shape = SHAPES[name]
    assert len(legs[0].program.agents) == shape.units * shape.wavefronts
