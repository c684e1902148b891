#include <sstream>

#include "base/input_error.hpp"
#include "base/npy.hpp"
#include "fuzz/promises.hpp"

namespace gpuexp::fuzz {

void fuzz_npy(std::string_view text) {
  constexpr const char* kFile = "fuzz.npy";
  std::istringstream in{std::string(text)};
  try {
    const NpyArray array = read_npy(in, kFile);
    require(array.header.shape.size() <= kMaxNpyRank, "an array has a bounded rank");
    for (const std::int64_t extent : array.header.shape)
      require(extent >= 0, "an extent is not negative");
    const auto count = static_cast<std::size_t>(array.header.count());
    require(array.bytes.size() == count * size_of(array.header.type),
            "an array has the bytes of its header");
    require(array.bytes.size() <= text.size(), "the bytes are those of the file");
    require(array.numbers().size() == count, "each element is a number");
  } catch (const InputError& error) {
    check_message(error, kFile);
  }
}

}  // namespace gpuexp::fuzz
