#include "gpu/device_query.hpp"

#include <algorithm>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/topology.hpp"
#include "family/ranks.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/nvml_state.hpp"

namespace gpuexp {

namespace {

std::string version_text(int version) {
  return version == 0 ? "none" : fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// The minimum driver for each toolkit, equal for all its minor versions (CUDA Toolkit Release
// Notes, table "CUDA Toolkit and Corresponding Driver Versions").
const char* min_driver(int runtime_version) {
  return runtime_version >= 13000 ? "580" : "525";
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  GPUEXP_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

SmLimits limits_of(const cudaDeviceProp& p) {
  SmLimits l;
  l.max_threads = p.maxThreadsPerMultiProcessor;
  l.max_blocks = p.maxBlocksPerMultiProcessor;
  l.registers = p.regsPerMultiprocessor;
  l.shared_bytes = static_cast<std::int64_t>(p.sharedMemPerMultiprocessor);
  l.shared_bytes_per_block = static_cast<std::int64_t>(p.sharedMemPerBlockOptin);
  l.reserved_shared_bytes = static_cast<std::int64_t>(p.reservedSharedMemPerBlock);
  return l;
}

DeviceSpec spec_of(int index, const cudaDeviceProp& p) {
  DeviceSpec s;
  s.id = std::to_string(index);
  s.name = p.name;
  s.cc_major = p.major;
  s.cc_minor = p.minor;
  s.sm_count = p.multiProcessorCount;
  s.sm_clock_max_mhz = attribute(cudaDevAttrClockRate, index) / 1e3;
  s.memory_bytes = static_cast<std::int64_t>(p.totalGlobalMem);
  // All of NVIDIA's DRAM types make two transfers per memory clock. The factors are transfers per
  // cycle, Hz, and bus width in bytes.
  const double memory_hz = 1e3 * attribute(cudaDevAttrMemoryClockRate, index);
  s.memory_bytes_per_s = 2.0 * memory_hz * attribute(cudaDevAttrGlobalMemoryBusWidth, index) / 8.0;
  s.l2_bytes = p.l2CacheSize;
  s.sm = limits_of(p);
  s.measured_here = true;
  return s;
}

// The machine's number of GPUs, at most kMaxRanks, if all can access each other's memory, else 1.
int reachable_gpus() {
  const int gpus = std::min(device_count(), kMaxRanks);
  for (int from = 0; from < device_count(); ++from) {
    for (int to = 0; to < device_count(); ++to) {
      int can_access = 0;
      if (from != to &&
          (cudaDeviceCanAccessPeer(&can_access, from, to) != cudaSuccess || !can_access))
        return 1;
    }
  }
  return gpus;
}

}  // namespace

std::optional<std::string> no_device_reason() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) {
    return "no NVIDIA driver is installed; this machine can still list, describe, plan and predict";
  }
  if (driver / 1000 < CUDART_VERSION / 1000) {
    return fmt::format(
        "the driver supports CUDA {} but this binary needs {}: update to driver {} or newer",
        version_text(driver), version_text(CUDART_VERSION), min_driver(CUDART_VERSION));
  }
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return fmt::format("no CUDA device can be used: {} ({})", cudaGetErrorName(error),
                       cudaGetErrorString(error));
  }
  if (count == 0) return "the driver finds no CUDA device";
  return std::nullopt;
}

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::optional<std::string> device_uuid(int index) {
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  return uuid_text(properties.uuid);
}

std::optional<int> compute_capability_of(int index) {
  int major = 0;
  int minor = 0;
  if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index) != cudaSuccess ||
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  constexpr int kMajor = 10;
  return kMajor * major + minor;
}

std::string runtime_version() {
  return version_text(CUDART_VERSION);
}

std::string driver_runtime_version() {
  int version = 0;
  cudaDriverGetVersion(&version);
  return version_text(version);
}

DeviceInfo query_device(int index, const std::vector<DeviceSpecFile>& specs) {
  cudaDeviceProp properties;
  GPUEXP_CUDA(cudaGetDeviceProperties(&properties, index));
  DeviceInfo info;
  info.index = index;
  info.spec = spec_of(index, properties);
  info.uuid = uuid_text(properties.uuid);
  info.pci_bus_id = fmt::format("{:08x}:{:02x}:{:02x}.0", properties.pciDomainID,
                                properties.pciBusID, properties.pciDeviceID);
  info.driver_version = driver_version();
  const DeviceState state = read_device_state(info.uuid);
  if (state.power_limit_w) info.spec.power_limit_w = *state.power_limit_w;
  // Prefers the maximum, because an idle link may run at a lower generation; a virtual machine may
  // not report the maximum.
  const auto generation =
      state.pcie_generation_max ? state.pcie_generation_max : state.pcie_generation;
  const auto lanes = state.pcie_width_max ? state.pcie_width_max : state.pcie_width;
  info.spec.pcie_bytes_per_s = pcie_bytes_per_s(generation.value_or(0), lanes.value_or(0));
  if (const DeviceSpecFile* listed = match_device_name(specs, info.spec.name)) {
    info.spec.peak_ops_per_s = listed->spec.peak_ops_per_s;
    info.spec.sm_clock_tensor_mhz = listed->spec.sm_clock_tensor_mhz;
    info.spec.machine = listed->spec.machine;  // link properties from the spec
    info.spec_id = listed->spec.id;
  }
  info.spec.machine.gpus = reachable_gpus();
  std::size_t free = 0;
  std::size_t total = 0;
  GPUEXP_CUDA(cudaSetDevice(index));
  GPUEXP_CUDA(cudaMemGetInfo(&free, &total));
  info.free_bytes = static_cast<std::int64_t>(free);
  return info;
}

}  // namespace gpuexp
