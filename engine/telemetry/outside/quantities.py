"""What a column of a monitor measures, by the names that nvidia-smi, DCGM, npu-smi, sar and exporters give it."""

from __future__ import annotations

import re
from enum import StrEnum


class Quantity(StrEnum):
    """What is measured; the value is how a sentence calls it."""

    USE = "utilisation"  # %
    CLOCK = "SM clock"  # MHz
    HEAT = "temperature"  # °C
    SLOWED = "thermal or hardware slowdown"  # 1: on
    SLOWED_BITS = "slowdown reasons"  # NVML's bits
    SLOWED_TIME = "time slowed for heat"  # counter
    ECC = "uncorrectable memory errors"  # counter
    XID = "Xid"  # the code of the last one; 0: none
    MEMORY = "memory in use"
    MEMORY_ALL = "memory there is"
    MEMORY_FREE = "memory free"
    LINK = "link failures"  # counter
    LINK_RATE = "errors a second on the link"
    IO_WAIT = "time waiting for disks"  # %
    HOST_MEMORY = "memory of the machine in use"  # %
    SWAPPED = "pages swapped out a second"
    KILLS = "processes killed for memory"  # counter


_NAMES: tuple[tuple[Quantity, str], ...] = (
    (Quantity.USE, r"sm|utilization\.gpu|GPUTL|GPUUT|DCGM_FI_DEV_GPU_UTIL|AI Core|NPU Util"),
    (Quantity.CLOCK, r"pclk|clocks(?:\.current)?\.(?:sm|gr|graphics)|SMCLK|DCGM_FI_DEV_SM_CLOCK"),
    (Quantity.HEAT, r"gtemp|temp|temperature\.gpu|TMPTR|DCGM_FI_DEV_GPU_TEMP|Temp"),
    (
        Quantity.SLOWED,
        r"tviol|clocks_(?:throttle|event)_reasons\.(?:hw_slowdown|hw_thermal_slowdown|sw_thermal_slowdown"
        r"|hw_power_brake_slowdown)",
    ),
    (
        Quantity.SLOWED_BITS,
        r"clocks_(?:throttle|event)_reasons\.active|DVCCTR|DCGM_FI_DEV_CLOCKS?_(?:THROTTLE|EVENT)_REASONS",
    ),
    (Quantity.SLOWED_TIME, r"DCGM_FI_DEV_THERMAL_VIOLATION|TMVIO"),
    (
        Quantity.ECC,
        r"dbecc|ecc\.errors\.uncorrected\.(?:volatile|aggregate)\.total|EDV(?:DV|TL)|DCGM_FI_DEV_ECC_DBE_(?:VOL|AGG)_TOTAL"
        r"|remapped_rows\.(?:uncorrectable|failure)|DCGM_FI_DEV_(?:UNCORRECTABLE_REMAPPED_ROWS|ROW_REMAP_FAILURE)"
        r"|retired_pages\.double_bit\.count",
    ),
    (Quantity.XID, r"XIDER|DCGM_FI_DEV_XID_ERRORS"),
    (Quantity.MEMORY, r"fb|memory\.used|FBUSD|DCGM_FI_DEV_FB_USED"),
    (Quantity.MEMORY_ALL, r"memory\.total|FBTTL|DCGM_FI_DEV_FB_TOTAL"),
    (Quantity.MEMORY_FREE, r"memory\.free|FBFRE|DCGM_FI_DEV_FB_FREE"),
    (
        Quantity.LINK,
        r"node_infiniband_link_(?:downed|error_recovery)_total|DCGM_FI_DEV_NVLINK_(?:REPLAY|RECOVERY)_ERROR_COUNT_TOTAL"
        r"|node_network_carrier_down_changes_total",
    ),
    (Quantity.LINK_RATE, r"[rt]xerr/s"),
    (Quantity.IO_WAIT, r"%iowait"),
    (Quantity.HOST_MEMORY, r"%memused"),
    (Quantity.SWAPPED, r"pswpout/s"),
    (Quantity.KILLS, r"node_vmstat_oom_kill|oom_kill"),
)
_PATTERNS = tuple((quantity, re.compile(rf"(?:{names})(?:\{{.*\}}| [\w.:-]+)?$")) for quantity, names in _NAMES)
_OF_PROCESS = re.compile(r" pid \d+$")


def quantity_of(name: str) -> Quantity | None:
    """Tell what a curve measures; None for what no sign is read from, and for single processes."""
    if _OF_PROCESS.search(name):
        return None
    return next((quantity for quantity, pattern in _PATTERNS if pattern.match(name)), None)
