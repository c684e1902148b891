#include "gpu/nvtx_tracer.hpp"

#include <nvtx3/nvToolsExt.h>

namespace gpuexp {

namespace {

class NvtxTracer final : public Tracer {
 public:
  NvtxTracer() : domain_(nvtxDomainCreateA("gpuexp")) {}
  ~NvtxTracer() override { nvtxDomainDestroy(domain_); }
  NvtxTracer(const NvtxTracer&) = delete;
  NvtxTracer& operator=(const NvtxTracer&) = delete;

  void push(const std::string& name) override {
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name.c_str();
    nvtxDomainRangePushEx(domain_, &attributes);
  }
  void pop() override { nvtxDomainRangePop(domain_); }

 private:
  nvtxDomainHandle_t domain_;
};

}  // namespace

std::unique_ptr<Tracer> make_nvtx_tracer() {
  return std::make_unique<NvtxTracer>();
}

}  // namespace gpuexp
