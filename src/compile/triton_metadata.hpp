// What Triton's cache stores next to the machine code of a kernel.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace gpuexp {

/// How a kernel that Triton compiled must be launched.
struct TritonMetadata {
  std::filesystem::path file;
  std::string kernel;             ///< lowered name
  std::int64_t threads = 0;       ///< per block, which has one dimension
  std::int64_t shared_bytes = 0;  ///< dynamic shared memory per block
};

/// Reads the file NAME.json next to NAME.cubin or NAME.ptx, if it is Triton's. Throws InputError,
/// with the name of that file, if it is damaged, or if the kernel needs what a launch here does not
/// have: clusters, scratch memory, tensor descriptors or a cooperative launch.
std::optional<TritonMetadata> triton_metadata(const std::filesystem::path& code);

}  // namespace gpuexp
