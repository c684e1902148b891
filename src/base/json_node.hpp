// A JSON value with its location for error messages. Configs read JSON only through the accessors
// below, so all errors have this form:
//   configs/x.json: $.experiments[0].axes.n[2]: 99999999 is out of range; allowed: 1 to 65536
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"

namespace gpuexp {

struct Key {
  std::string_view name;
  std::string_view doc;
};

struct Bounds {
  double min;
  double max;
  bool above_min = false;  ///< excludes min itself
  std::string about = {};  ///< name of the number for messages; may be empty
};

class Node {
 public:
  /// `json` and `source` must outlive the node. `source` is a file or an option; `path` is the
  /// location in it, and may be empty.
  Node(const Json& json, std::string_view source, std::string path)
      : json_(&json), source_(source), path_(std::move(path)) {}

  const Json& json() const { return *json_; }
  const std::string& path() const { return path_; }

  /// Throws ConfigError "<source>: <path>: <message>".
  [[noreturn]] void fail(std::string_view message) const;

  /// Fails unless this is an object with no keys but `allowed`.
  void check_keys(std::span<const Key> allowed) const;
  /// A member of an object. Without such a member, find() returns nothing and require() fails.
  std::optional<Node> find(std::string_view key) const;
  Node require(std::string_view key) const;

  /// Members of an object, and items of a non-empty list. `what` names the expected value in
  /// messages: "a list of variants".
  std::vector<std::pair<std::string, Node>> members(std::string_view what) const;
  std::vector<Node> items(std::string_view what) const;

  std::string text() const;
  /// Accepts one of `names`. `what` is their kind for messages: "mode".
  std::string one_of(const std::vector<std::string>& names, std::string_view what) const;
  /// Accepts a JSON integer: 4096, not 4096.0 or 4e3.
  std::int64_t integer(const Bounds& bounds) const;
  std::uint64_t unsigned_integer() const;
  double real(const Bounds& bounds) const;

 private:
  [[noreturn]] void expected(std::string_view what) const;
  void check_bounds(double value, const Bounds& bounds) const;

  const Json* json_;
  std::string_view source_;
  std::string path_;
};

/// Text such as "1 to 65536" or "above 0, at most 3600".
std::string to_string(const Bounds& bounds);

}  // namespace gpuexp
