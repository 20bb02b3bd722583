"""Sizes of messages, and the places of latencies in a histogram."""

from __future__ import annotations

from runtime.statistics.words import LATENCY_BUCKETS, bytes_of, latency_bucket, least_latency


def test_buckets_are_in_order_and_contain_their_least() -> None:
    for ticks in (*range(300), 1 << 20, (1 << 30) + 5):
        bucket = latency_bucket(ticks)
        assert least_latency(bucket) <= ticks < least_latency(bucket + 1)


def test_the_last_bucket_has_all_that_take_longer() -> None:
    assert latency_bucket(1 << 60) == LATENCY_BUCKETS - 1


def test_only_messages_with_data_carry_a_line() -> None:
    assert bytes_of("Response_Data", 64) - bytes_of("Response_Control", 64) == 64
    assert bytes_of("", 128) == bytes_of("Request_Control", 64)
