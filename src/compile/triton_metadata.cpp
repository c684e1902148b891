#include "compile/triton_metadata.hpp"

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/json.hpp"
#include "compile/nvcc_text.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxMetadataBytes = std::uintmax_t{1} << 20;
constexpr std::int64_t kWarpSize = 32;

std::int64_t number(const Json& metadata, const char* key, std::int64_t absent) {
  const Json* const value = metadata.find(key);
  return value && !value->is_null() ? value->get<std::int64_t>() : absent;
}

// Whether a member is present and neither null, false, 0 nor empty.
bool is_set(const Json& metadata, const char* key) {
  const Json* const value = metadata.find(key);
  if (!value || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number()) return value->get<double>() != 0;
  return !value->empty();
}

void refuse_unsupported(const fs::path& file, const Json& metadata) {
  if (number(metadata, "num_ctas", 1) != 1)
    throw InputError(
        fmt::format("{}: num_ctas is {}; clusters are not supported: compile the "
                    "kernel with num_ctas = 1",
                    file.string(), number(metadata, "num_ctas", 1)));
  for (const char* const key : {"global_scratch_size", "profile_scratch_size", "tensordesc_meta",
                                "launch_cooperative_grid"}) {
    if (is_set(metadata, key))
      throw InputError(
          fmt::format("{}: {} is set; kernels that need it are not supported", file.string(), key));
  }
}

TritonMetadata read_metadata(const fs::path& file, const Json& metadata) {
  TritonMetadata read;
  read.file = file;
  read.kernel = metadata.at("name").get<std::string>();
  read.threads = metadata.at("num_warps").get<std::int64_t>() * kWarpSize;
  read.shared_bytes = metadata.at("shared").get<std::int64_t>();
  constexpr std::int64_t kMaxThreads = 1024;
  if (read.threads < 1 || read.threads > kMaxThreads || read.shared_bytes < 0)
    throw JsonError("num_warps or shared is out of range");
  return read;
}

}  // namespace

std::optional<TritonMetadata> triton_metadata(const fs::path& code) {
  const fs::path file = fs::path(code).replace_extension(".json");
  std::error_code error;
  if (!fs::exists(file, error)) return std::nullopt;
  const std::string text =
      read_text_input(file, {"a JSON file of Triton's cache", "kernel.json", kMaxMetadataBytes});
  try {
    const Json metadata = Json::parse(text);
    if (!metadata.is_object() || !metadata.contains("num_warps")) return std::nullopt;
    refuse_unsupported(file, metadata);
    return read_metadata(file, metadata);
  } catch (const JsonError& damage) {
    throw InputError(
        fmt::format("{}: is not a JSON file of Triton's cache: {}", file.string(), damage.what()));
  }
}

}  // namespace gpuexp
