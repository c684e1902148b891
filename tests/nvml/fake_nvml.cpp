// Signatures and constants follow NVML's reference. All answers differ, so mixed-up values are
// detected.
#include "nvml/fake_nvml.hpp"

namespace {

gpuexp::test::FakeNvml fake;

constexpr int kSuccess = 0;
constexpr int kInvalid = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

struct Handle {
  bool is_instance;
};
Handle gpu{false};
Handle instance{true};
Handle other{false};

/// nvmlPciInfo_t.
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

constexpr unsigned kBus = 0x17, kOtherBus = 0xc1, kSwitchBus = 0x05;

bool is_whole(const Handle* device) {
  return device == &gpu || device == &other;
}

int answer(const char* function, Handle* device, unsigned* out, unsigned value) {
  if (device != &gpu || !out) return kInvalid;
  if (fake.not_there.count(function)) return kNotSupported;
  *out = value;
  return kSuccess;
}

/// Clock kind 1 is the SM clock, 2 the memory clock.
int clock_answer(const char* function, Handle* device, int kind, unsigned* out, unsigned sm,
                 unsigned memory) {
  if (kind != 1 && kind != 2) return kInvalid;
  return answer(function, device, out, kind == 1 ? sm : memory);
}

struct Process {
  unsigned pid;
  unsigned long long bytes;
  unsigned gpu_instance;
  unsigned compute_instance;
};

/// nvmlFieldValue_t; the value is a union with further members.
struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  int status;
  union {
    double real;
    unsigned value;
  };
};

int list(const char* function, Handle* device, unsigned* count, Process* infos, unsigned first,
         unsigned number) {
  if (device != &gpu || !count) return kInvalid;
  if (fake.not_there.count(function)) return kNotSupported;
  const unsigned room = *count;
  *count = number;
  if (number > room) return kInsufficientSize;
  for (unsigned i = 0; i < number; ++i)
    infos[i] = {first + i, i == 0 ? 1'000'000'000ULL : ~0ULL, 0, 0};
  return kSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names are NVML's
extern "C" {

gpuexp::test::FakeNvml* fake_nvml() {
  return &fake;
}

int nvmlInit_v2() {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Handle** device) {
  if (!fake.uuids.count(uuid)) return kNotFound;
  *device = std::string(uuid).rfind("MIG-", 0) == 0 ? &instance
            : uuid == fake.other                    ? &other
                                                    : &gpu;
  return kSuccess;
}
int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Handle* device, Handle** parent) {
  if (!device->is_instance) return kInvalid;
  *parent = &gpu;
  return kSuccess;
}

int nvmlDeviceGetEccMode(Handle* device, unsigned* current, unsigned* pending) {
  answer(__func__, device, pending, 0);
  return answer(__func__, device, current, 1);
}
int nvmlDeviceGetDefaultEccMode(Handle* device, unsigned* mode) {
  return answer(__func__, device, mode, 1);
}
int nvmlDeviceGetTotalEccErrors(Handle* device, int type, int counter, unsigned long long* count) {
  unsigned errors = 0;
  if (type != 1) return kInvalid;
  const int status = answer(__func__, device, &errors, counter == 0 ? 3 : 5);
  *count = errors;
  return status;
}
int nvmlDeviceGetRemappedRows(Handle* device, unsigned* corrected, unsigned* uncorrected,
                              unsigned* pending, unsigned* failed) {
  answer(__func__, device, corrected, 7);
  answer(__func__, device, uncorrected, 9);
  answer(__func__, device, pending, 1);
  return answer(__func__, device, failed, 0);
}
int nvmlDeviceGetRetiredPagesPendingStatus(Handle* device, unsigned* pending) {
  return answer(__func__, device, pending, 1);
}

int nvmlDeviceGetPowerUsage(Handle* device, unsigned* milliwatts) {
  return answer(__func__, device, milliwatts, 310'500);
}
int nvmlDeviceGetFieldValues(Handle* device, int count, FieldValue* values) {
  if (device != &gpu || count != 1 || !values) return kInvalid;
  constexpr unsigned kPowerInstant = 186;
  const bool known = values->field == kPowerInstant && fake.power_now_mw > 0;
  values->status = known ? kSuccess : kNotSupported;
  values->value = fake.power_now_mw;
  return kSuccess;
}
int nvmlDeviceGetEnforcedPowerLimit(Handle* device, unsigned* milliwatts) {
  return answer(__func__, device, milliwatts, 500'000);
}
int nvmlDeviceGetPowerManagementDefaultLimit(Handle* device, unsigned* milliwatts) {
  return answer(__func__, device, milliwatts, 700'000);
}
int nvmlDeviceGetTemperature(Handle* device, int sensor, unsigned* celsius) {
  return sensor == 0 ? answer(__func__, device, celsius, 53) : kInvalid;
}
int nvmlDeviceGetTemperatureThreshold(Handle* device, int kind, unsigned* celsius) {
  return kind == 1 ? answer(__func__, device, celsius, 87) : kInvalid;
}
int nvmlDeviceGetMarginTemperature(Handle* device, unsigned* version_and_margin) {
  if (*version_and_margin != ((1U << 24) | 8)) return kInvalid;
  return answer(__func__, device, version_and_margin + 1, 31);
}

int nvmlDeviceGetClockInfo(Handle* device, int kind, unsigned* mhz) {
  return clock_answer(__func__, device, kind, mhz, 1900, 3001);
}
int nvmlDeviceGetMaxClockInfo(Handle* device, int kind, unsigned* mhz) {
  return clock_answer(__func__, device, kind, mhz, 1980, 3201);
}
int nvmlDeviceGetMaxCustomerBoostClock(Handle* device, int kind, unsigned* mhz) {
  return clock_answer(__func__, device, kind, mhz, 1970, 3200);
}
int nvmlDeviceGetApplicationsClock(Handle* device, int kind, unsigned* mhz) {
  return clock_answer(__func__, device, kind, mhz, 1200, 3202);
}
int nvmlDeviceGetDefaultApplicationsClock(Handle* device, int kind, unsigned* mhz) {
  return clock_answer(__func__, device, kind, mhz, 1500, 3203);
}
int nvmlDeviceGetPerformanceState(Handle* device, unsigned* state) {
  return answer(__func__, device, state, 2);
}
int nvmlDeviceGetCurrentClocksEventReasons(Handle* device, unsigned long long* reasons) {
  unsigned low = 0;
  const int status = answer(__func__, device, &low, static_cast<unsigned>(fake.reasons));
  *reasons = low;
  return status;
}

int nvmlDeviceGetCurrPcieLinkGeneration(Handle* device, unsigned* generation) {
  return answer(__func__, device, generation, 3);
}
int nvmlDeviceGetMaxPcieLinkGeneration(Handle* device, unsigned* generation) {
  return answer(__func__, device, generation, 4);
}
int nvmlDeviceGetGpuMaxPcieLinkGeneration(Handle* device, unsigned* generation) {
  return answer(__func__, device, generation, 5);
}
int nvmlDeviceGetCurrPcieLinkWidth(Handle* device, unsigned* lanes) {
  return answer(__func__, device, lanes, 8);
}
int nvmlDeviceGetMaxPcieLinkWidth(Handle* device, unsigned* lanes) {
  return answer(__func__, device, lanes, 16);
}

int nvmlDeviceGetMigMode(Handle* device, unsigned* current, unsigned* pending) {
  answer(__func__, device, pending, 1);
  return answer(__func__, device, current, 0);
}
int nvmlDeviceGetPersistenceMode(Handle* device, unsigned* mode) {
  return answer(__func__, device, mode, 1);
}
int nvmlDeviceGetComputeMode(Handle* device, unsigned* mode) {
  return answer(__func__, device, mode, 3);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Handle* device, unsigned* count, Process* infos) {
  return list(__func__, device, count, infos, 1, fake.processes);
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(Handle* device, unsigned* count, Process* infos) {
  return list(__func__, device, count, infos, fake.drawing_from, fake.drawing_from ? 2 : 0);
}

int nvmlDeviceGetPciInfo_v3(Handle* device, PciInfo* pci) {
  if (!is_whole(device)) return kInvalid;
  *pci = {"", 2, device == &gpu ? kBus : kOtherBus, 0, 0, 0, ""};
  return kSuccess;
}
int nvmlDeviceGetNvLinkState(Handle* device, unsigned link, unsigned* is_active) {
  if (!is_whole(device) || link > fake.links) return kInvalid;
  if (fake.not_there.count(__func__)) return kNotSupported;
  *is_active = link < fake.links ? 1 : 0;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(Handle* device, unsigned link, int* type) {
  if (!is_whole(device) || link >= fake.links) return kInvalid;
  *type = fake.has_switches ? 2 : 0;
  return kSuccess;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle* device, unsigned link, PciInfo* pci) {
  if (!is_whole(device) || link >= fake.links) return kInvalid;
  *pci = {"", 2, fake.has_switches ? kSwitchBus : device == &gpu ? kOtherBus : kBus, 0, 0, 0, ""};
  return kSuccess;
}
int nvmlDeviceGetNvLinkVersion(Handle* device, unsigned link, unsigned* version) {
  if (!is_whole(device) || link >= fake.links) return kInvalid;
  *version = 6;
  return kSuccess;
}
int nvmlDeviceGetTopologyCommonAncestor(Handle* a, Handle* b, int* level) {
  if (!is_whole(a) || !is_whole(b) || a == b) return kInvalid;
  *level = fake.pcie_level;
  return kSuccess;
}
int nvmlDeviceGetP2PStatus(Handle* a, Handle* b, int ability, int* status) {
  if (!is_whole(a) || !is_whole(b) || ability < 0 || ability > 3) return kInvalid;
  if (fake.not_there.count(__func__)) return kNotSupported;
  constexpr int kAtomics = 3, kUnsupportedChipset = 1;
  *status = ability == kAtomics ? kUnsupportedChipset : fake.peer_status;
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
