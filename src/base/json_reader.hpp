// Strict JSON (RFC 8259): no comments, no trailing commas, no duplicate keys, no byte order mark,
// valid UTF-8, bounded size and depth. Whatever the bytes, the result is a tree or a ConfigError.
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

/// Throws ConfigError "<source>:<line>:<column>: <what was found and expected>"; lines and columns
/// start at 1, columns count bytes. Integers that fit neither int64 nor uint64, and reals beyond
/// double, are errors.
Json read_json(std::string_view text, std::string_view source);

/// The bytes of a file, or of a pipe: at most kMaxJsonBytes + 1 of them, so that read_json sees
/// when there are too many. Compressed text is decompressed. Throws ConfigError when the file is
/// missing, a directory or unreadable.
std::string read_text_file(const std::filesystem::path& path);

/// `path` extended by a member, "$.axes" to "$.axes.n", or by an item, "$.axes.n[2]".
std::string member_path(std::string_view path, std::string_view key);
std::string item_path(std::string_view path, std::size_t index);

/// What a value is, for messages: the value itself when it is short and plain, else its kind.
std::string describe(const Json& json);

}  // namespace gpuexp
