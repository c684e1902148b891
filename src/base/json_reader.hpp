// Strict JSON (RFC 8259): no comments, trailing commas, duplicate keys or byte order mark; valid
// UTF-8; bounded size and depth. For any input, the result is a tree or a ConfigError.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/config_error.hpp"
#include "base/json.hpp"

namespace gpuexp {

inline constexpr std::size_t kMaxJsonBytes = std::size_t{16} << 20;

/// Throws ConfigError "<source>:<line>:<column>: <what was found and expected>". Lines and columns
/// start at 1; columns count bytes. Integers that fit neither int64 nor uint64 and reals beyond the
/// range of double are errors.
Json read_json(std::string_view text, std::string_view source);

/// Returns the bytes of a file or pipe, decompressed if necessary. It reads at most kMaxJsonBytes +
/// 1 bytes, from which read_json detects a text that is too long. Throws ConfigError if the file is
/// missing, a directory or unreadable.
std::string read_text_file(const std::filesystem::path& path);

/// Extends `path` by a member ("$.axes" to "$.axes.n") or by an item ("$.axes.n[2]").
std::string member_path(std::string_view path, std::string_view key);
std::string item_path(std::string_view path, std::size_t index);

/// Text for messages: the value itself if it is short and plain, otherwise its kind.
std::string describe(const Json& json);

}  // namespace gpuexp
