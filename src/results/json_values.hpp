// Typed values of a JSON text, read in the order of the text. Errors name the file and the place:
//   results.json: rows[0].time_median_us: expected a number, found "fast"
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/json_scanner.hpp"
#include "base/table.hpp"
#include "record/record_table.hpp"
#include "record/run_times.hpp"

namespace gpuexp {

/// Position of a value, as a linked list on the stack; only error messages convert it to text.
struct Place {
  const Place* parent;  ///< null for the root value
  std::string_view member;
  std::size_t index = 0;
  bool is_element = false;

  Place at(std::string_view name) const { return {this, name}; }
  Place at(std::size_t i) const { return {this, {}, i, true}; }
};

/// A name from the file for messages: shortened, without control characters.
std::string shown(std::string_view name);

/// Reads the values of a JSON text. Reading functions throw ReportError, or JsonSyntaxError if the
/// text is not JSON.
class JsonValues {
 public:
  using Kind = JsonScanner::Kind;

  /// Messages name `file`. The text and `file` must outlive this object.
  JsonValues(std::string_view text, const std::string& file)
      : text_(text), file_(file), scanner_(text) {}

  JsonScanner& scanner() { return scanner_; }

  [[noreturn]] void fail(const Place& place, const std::string& what) const;
  /// Throws "expected …, found …" for the next value, which is at `place`.
  [[noreturn]] void fail_expecting(const Place& place, std::string_view expected);
  void expect(const Place& place, Kind kind, const char* expected) {
    if (scanner_.peek() != kind) fail_expecting(place, expected);
  }

  void read(const Place& place, std::string& out);
  void read(const Place& place, bool& out);
  void read(const Place& place, std::int64_t& out);
  void read(const Place& place, std::uint64_t& out);
  void read(const Place& place, double& out);
  void read(const Place& place, FieldType& out);
  /// Reads a value; null leaves `out` empty.
  template <class T>
  void read(const Place& place, std::optional<T>& out) {
    if (scanner_.peek() == Kind::null) {
      scanner_.null();
    } else {
      read(place, out.emplace());
    }
  }
  /// Reads a number, a text or null.
  Field scalar(const Place& place);
  /// Reads a value of the type, or null.
  Field field(const Place& place, FieldType type);
  void return_to(std::size_t offset) { scanner_.seek(offset, scanner_.depth()); }
  /// Returns the text of the next value and checks only its syntax.
  std::string_view text();

  /// Calls read_member(name, place of the value) for each member and returns the names. Throws if a
  /// name is repeated.
  template <class ReadMember>
  std::unordered_set<std::string> object(const Place& place, const ReadMember& read_member) {
    expect(place, Kind::object, "an object");
    std::unordered_set<std::string> names;
    scanner_.object([&](std::string_view name) {
      const auto [added, is_first] = names.emplace(name);
      if (!is_first) fail_for_repetition(place, name);
      read_member(*added, place.at(*added));
    });
    return names;
  }
  /// Reads the member with this name in visit_members(); skips an unknown member.
  template <class Members>
  void member(const std::string& name, const Place& place, Members& members) {
    bool is_known = false;
    visit_members(members, [&](const char* known, auto& member, const char*) {
      if (name != known) return;
      is_known = true;
      read(place, member);
    });
    if (!is_known) scanner_.skip();
  }
  /// Reads an object whose members visit_members() lists.
  template <class Members>
  void members(const Place& place, Members& members) {
    object(place, [&](const std::string& name, const Place& at) { member(name, at, members); });
  }
  template <class ReadItem>
  void array(const Place& place, const char* expected, const ReadItem& read_item) {
    expect(place, Kind::array, expected);
    std::size_t count = 0;
    scanner_.array([&] { read_item(place.at(count++)); });
  }

  void require(const std::unordered_set<std::string>& names, const Place& place,
               std::initializer_list<const char*> required) const;
  [[noreturn]] void fail_for_absence(const Place& place, std::string_view name) const;
  [[noreturn]] void fail_for_repetition(const Place& place, std::string_view name) const;

 private:
  std::string_view text_;
  const std::string& file_;
  JsonScanner scanner_;
};

/// Reads the next value, which must have the column's type or be null. A parameter may have any
/// type, because families may use one name for parameters of different types.
Field read_field(JsonValues& values, const Place& place, const ColumnInfo& column);
void read_value(JsonValues& values, const Place& place, const RecordColumn& column,
                ResultRecord& record);

/// Reads one member of an element of a report's "group_times".
void read_member(JsonValues& values, const std::string& name, const Place& place,
                 GroupTimes& group);

}  // namespace gpuexp
