// The entry that libFuzzer calls; GPUEXP_FUZZ_TARGET names what to feed.
#include <cstddef>
#include <cstdint>

#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  gpuexp::fuzz::GPUEXP_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
