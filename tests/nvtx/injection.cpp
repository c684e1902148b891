// A stand-in for a profiler, which NVTX loads through NVTX_INJECTION64_PATH and calls for every
// range. It records one line per event: "domain NAME", "push DOMAIN NAME", "pop DOMAIN". The test
// reads them back from its own process, or from the files $GPUEXP_NVTX_EVENTS.PID of other
// processes.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>

#include <unistd.h>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

namespace {

std::string& record() {
  static std::string text;
  return text;
}

void add(const std::string& line) {
  record() += line + "\n";
  static std::ofstream file = [] {
    const char* const path = std::getenv("GPUEXP_NVTX_EVENTS");
    return path ? std::ofstream(path + ("." + std::to_string(getpid()))) : std::ofstream();
  }();
  file << line << std::endl;  // std::endl flushes: a worker ends without destructors
}

std::map<nvtxDomainHandle_t, std::string>& domains() {
  static std::map<nvtxDomainHandle_t, std::string> names;
  return names;
}

nvtxDomainHandle_t NVTX_API domain_create(const char* name) {
  static std::uintptr_t next = 1;
  const auto handle = reinterpret_cast<nvtxDomainHandle_t>(next++);
  domains()[handle] = name;
  add(std::string("domain ") + name);
  return handle;
}

int NVTX_API range_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  add("push " + domains()[domain] + " " + event->message.ascii);
  return 0;
}

int NVTX_API range_pop(nvtxDomainHandle_t domain) {
  add("pop " + domains()[domain]);
  return 0;
}

}  // namespace

extern "C" {

// NVTX calls this once, before the first range.
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (!callbacks || !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size))
    return 0;
  *table[NVTX_CBID_CORE2_DomainCreateA] = reinterpret_cast<NvtxFunctionPointer>(domain_create);
  *table[NVTX_CBID_CORE2_DomainRangePushEx] = reinterpret_cast<NvtxFunctionPointer>(range_push);
  *table[NVTX_CBID_CORE2_DomainRangePop] = reinterpret_cast<NvtxFunctionPointer>(range_pop);
  return 1;
}

const char* recorded_nvtx_events() {
  return record().c_str();
}
}
