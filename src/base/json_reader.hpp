// Reads strict JSON (RFC 8259): no comments, trailing commas, duplicate keys or byte order mark;
// only valid UTF-8; bounded size and depth. The result is a tree or a ConfigError for any input.
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

/// Throws ConfigError "<source>:<line>:<column>: <what was found and expected>". Lines and
/// columns start at 1; columns count bytes. Integers outside int64 and uint64, and reals outside
/// the range of double, are errors.
Json read_json(std::string_view text, std::string_view source);

/// The text of a file or pipe, decompressed if necessary. Reads at most kMaxJsonBytes + 1 bytes,
/// from which read_json() detects a text that is too long. Throws ConfigError if the file is
/// missing, a directory, unreadable or damaged.
std::string read_text_file(const std::filesystem::path& path);

/// Adds a member to a path ("$.axes" to "$.axes.n"), or an item ("$.axes.n[2]").
std::string member_path(std::string_view path, std::string_view key);
std::string item_path(std::string_view path, std::size_t index);

/// Text for messages: a short plain value itself, otherwise its kind.
std::string describe(const Json& json);

}  // namespace gpuexp
