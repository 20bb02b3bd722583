"""Kernels of the corpus in a process: results as on the device, with TLBs that are too small."""

from __future__ import annotations

import pytest

from gpu import Device
from gpu.memory.coherent.factory import EngineChoice
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.corpus.runner import coherent_device, complaint
from tests.gpu.host.devices import with_small_tlbs
from tests.sampling import MATRIX, sampled

NAMES = [case.name for case in CASES]


@pytest.mark.parametrize("case", sampled(CASES, 20, MATRIX, ids=NAMES))
def test_without_caches(case: Case) -> None:
    assert complaint(case, Device(cus=1).create_process()) is None


@pytest.mark.parametrize("case", sampled(CASES, 60, MATRIX, ids=NAMES))
def test_through_caches(case: Case) -> None:
    device = coherent_device(engine=EngineChoice.auto, ahead=False)
    assert complaint(case, with_small_tlbs(device, 4).create_process()) is None
    assert not device.memory.busy
