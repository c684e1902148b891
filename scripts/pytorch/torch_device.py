"""The GPU through PyTorch: the cache flush before a sample, and the device's properties in results."""

import subprocess

import torch

EVICTING_L2S = 2  # multiples of the L2 size to read so that all previous lines are evicted: src/gpu/cache_flush.hpp


class CacheFlush:
    """Fills L2 by reads. The lines are clean, so that the timed launch causes no write-backs of other data."""

    def __init__(self, l2_bytes):
        self.bytes = -(-EVICTING_L2S * l2_bytes // 16) * 16
        self.buffer = torch.zeros(self.bytes // 4, dtype=torch.int32, device="cuda")
        self.sink = torch.empty((), dtype=torch.int32, device="cuda")

    def enqueue(self):
        torch.amax(self.buffer, dim=0, out=self.sink)


# nvidia-smi queries, in the units of the results.
SMI = {
    "pci_bus_id": ("pci.bus_id", str), "driver_version": ("driver_version", str), "sm_clock_mhz": ("clocks.sm", int),
    "sm_clock_max_mhz": ("clocks.max.sm", int), "memory_clock_mhz": ("clocks.mem", int), "power_limit_w": ("power.limit", float),
    "temperature_c": ("temperature.gpu", int), "ecc_enabled": ("ecc.mode.current", "Enabled".__eq__),
}  # fmt: skip


def driver_facts(uuid):
    """Values that nvidia-smi reports, without unknown ones; empty if it cannot be run."""
    fields = ",".join(query for query, _ in SMI.values())
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits", f"--id={uuid}"]
    try:
        printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    facts = {}
    for (name, (_, kind)), text in zip(SMI.items(), printed.strip().split(", ")):
        try:
            facts[name] = kind(text)
        except ValueError:
            continue  # "[N/A]"
    return facts


def device_facts():
    properties = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info()
    uuid = f"GPU-{properties.uuid}" if hasattr(properties, "uuid") else None
    return {
        "name": properties.name, "executed_on": "gpu", "uuid": uuid,
        "compute_capability": f"{properties.major}.{properties.minor}", "sm_count": properties.multi_processor_count,
        "runtime_version": torch.version.cuda, "memory_total_bytes": total, "memory_free_bytes": free,
        **(driver_facts(uuid) if uuid else {}),
    }  # fmt: skip


def l2_bytes():
    return torch.cuda.get_device_properties(0).L2_cache_size
