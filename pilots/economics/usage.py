"""Prices per hour become prices per result (cluster.md section 9); utilisation is always said, never hidden in a rate."""

from __future__ import annotations

from decimal import Decimal

from pilots.economics.amounts import checked, positive
from pilots.economics.errors import EconomicsError

SECONDS_PER_HOUR = Decimal(3600)
THOUSAND = Decimal(1000)


def compute_per_unit(price_per_device_hour: Decimal, devices: int, hours_per_unit: Decimal) -> Decimal:
    """Return what the device hours of one result cost, in the currency of the price."""
    checked(price_per_device_hour, "price_per_device_hour")
    return price_per_device_hour * _devices(devices) * positive(hours_per_unit, "hours_per_unit")


def cost_per_1000_tokens(
    price_per_gpu_hour: Decimal, gpus: int, tokens_per_s: Decimal, util_paid: Decimal
) -> Decimal:
    """Return the price of 1 000 tokens (S026); util_paid: used by paid hours, in (0, 1]."""
    checked(price_per_gpu_hour, "price_per_gpu_hour")
    if positive(util_paid, "util_paid") > 1:
        raise EconomicsError("util_paid", "Die Auslastung liegt zwischen 0 und 1.")
    tokens_per_paid_hour = positive(tokens_per_s, "tokens_per_s") * SECONDS_PER_HOUR * util_paid
    return price_per_gpu_hour * _devices(gpus) * THOUSAND / tokens_per_paid_hour


def _devices(count: int) -> int:
    if count < 1:
        raise EconomicsError("devices", "Bitte mindestens ein Gerät angeben.")
    return count
