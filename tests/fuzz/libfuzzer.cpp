// Entry point of libFuzzer; GPUEXP_FUZZ_TARGET names the target.
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuexp::fuzz::GPUEXP_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
