#include "base/compressed.hpp"

#include <array>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <zstd.h>

#include "base/report_error.hpp"

namespace gpuexp {

namespace {

// Higher levels need more memory for decompression. Results are written once and read often.
// Compared with this level, level 9 takes 1/20 of the time, and its output is 1.4 times as large.
constexpr int kLevel = 19;

}  // namespace

bool is_compressed(std::string_view bytes) {
  return bytes.starts_with("\x28\xB5\x2F\xFD");
}

bool has_compressed_name(std::string_view path) {
  return path.ends_with(".zst");
}

std::string compressed(std::string_view text) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  if (!context) throw std::bad_alloc();
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_compressionLevel, kLevel);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  std::string bytes(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size =
      ZSTD_compress2(context.get(), bytes.data(), bytes.size(), text.data(), text.size());
  if (ZSTD_isError(size) != 0) throw std::bad_alloc();  // its only possible cause
  bytes.resize(size);
  return bytes;
}

std::string decompressed(std::string_view bytes, const std::string& file, std::size_t max_bytes) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(),
                                                                     ZSTD_freeDCtx);
  if (!context) throw std::bad_alloc();
  std::string text;
  std::array<char, 1 << 17> part{};
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  // A frame can still have output after all input was read.
  for (std::size_t expected = 1; in.pos < in.size || expected > 0;) {
    ZSTD_outBuffer out{part.data(), part.size(), 0};
    const std::size_t read_before = in.pos;
    expected = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(expected) != 0) {
      throw ReportError(
          fmt::format("{}: damaged Zstandard data: {}", file, ZSTD_getErrorName(expected)));
    }
    text.append(part.data(), out.pos);
    if (text.size() > max_bytes) {
      throw ReportError(fmt::format("{}: decompresses to more than {} MiB", file, max_bytes >> 20));
    }
    if (expected > 0 && out.pos == 0 && in.pos == read_before)
      throw ReportError(fmt::format("{}: truncated Zstandard data", file));
  }
  return text;
}

}  // namespace gpuexp
