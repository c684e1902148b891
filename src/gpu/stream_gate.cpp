#include "gpu/stream_gate.hpp"

#include <cuda.h>

#include "gpu/shared_library.hpp"

namespace gpuexp {

namespace {

using WaitValue = CUresult (*)(CUstream, CUdeviceptr, cuuint32_t, unsigned);

WaitValue wait_value() {
  static const auto kFunction = driver_function_as<WaitValue>("cuStreamWaitValue32");
  return kFunction;
}

bool queue_wait(const CudaStream& stream, std::uint32_t* word, std::uint32_t value) {
  void* d_word = nullptr;
  GPUEXP_CUDA(cudaHostGetDevicePointer(&d_word, word, 0));
  return wait_value()(stream.get(), reinterpret_cast<CUdeviceptr>(d_word), value,
                      CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS;
}

// Release order: the GPU, which polls the word, sees all earlier writes.
void store(std::uint32_t* word, std::uint32_t value) {
  std::atomic_ref(*word).store(value, std::memory_order_release);
}

}  // namespace

StreamGate::StreamGate(bool wanted) {
  if (!wanted || !wait_value()) return;
  void* memory = nullptr;
  GPUEXP_CUDA(cudaHostAlloc(&memory, sizeof(std::uint32_t), cudaHostAllocMapped));
  word_ = static_cast<std::uint32_t*>(memory);
  store(word_, 0);
  const CudaStream stream;
  available_ = queue_wait(stream, word_, 0);
  if (!available_) return;
  stream.synchronize();
  watchdog_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

StreamGate::~StreamGate() {
  if (!word_) return;
  store(word_, closed_at_);
  watchdog_ = {};
  GPUEXP_CUDA_NOEXCEPT(cudaFreeHost(word_));
}

void StreamGate::close(const CudaStream& stream) {
  expired_ = false;
  ++closed_at_;
  if (!queue_wait(stream, word_, closed_at_)) {
    throw DeviceError("cuStreamWaitValue32 was refused after it had worked", DeviceFault::refused);
  }
  closed_since_ = Clock::now().time_since_epoch().count();
}

bool StreamGate::open() {
  closed_since_ = 0;
  store(word_, closed_at_);
  return !expired_;
}

// Polls, because waking this thread for each sample would add to the sample's wall time.
void StreamGate::watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kPeriod{100};
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(kPeriod);
    const Clock::rep since = closed_since_;
    if (since == 0 || Clock::now() - Clock::time_point(Clock::duration(since)) < kPatience)
      continue;
    expired_ = true;
    store(word_, closed_at_);
  }
}

}  // namespace gpuexp
