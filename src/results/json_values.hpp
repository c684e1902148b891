// Typed values of a JSON text, read in its order, with errors that name the file and the place: the
// only way that reports read JSON.
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

/// Where a value stands, as a chain on the stack: it becomes text only in an error.
struct Place {
  const Place* parent;  ///< null for the whole text
  std::string_view member;
  std::size_t index = 0;
  bool is_element = false;

  Place at(std::string_view name) const { return {this, name}; }
  Place at(std::size_t i) const { return {this, {}, i, true}; }
};

/// A name from the file, fit for a message: short, and nothing that steers a terminal.
std::string shown(std::string_view name);

/// Whatever reads throws ReportError, or JsonSyntaxError where the text is not JSON.
class JsonValues {
 public:
  using Kind = JsonScanner::Kind;

  /// The text and the file's name, which is for messages, outlive this.
  JsonValues(std::string_view text, const std::string& file)
      : text_(text), file_(file), scanner_(text) {}

  /// It stands before the next value.
  JsonScanner& scanner() { return scanner_; }

  [[noreturn]] void fail(const Place& place, const std::string& what) const;
  /// "expected …, found …": the next value, which is at `place`.
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
  /// What is null stays empty.
  template <class T>
  void read(const Place& place, std::optional<T>& out) {
    if (scanner_.peek() == Kind::null) {
      scanner_.null();
    } else {
      read(place, out.emplace());
    }
  }
  /// A number, a text or null.
  Field scalar(const Place& place);
  /// The same of one type, or null.
  Field field(const Place& place, FieldType type);
  /// Goes back to before the value that began there, in the same container.
  void return_to(std::size_t offset) { scanner_.seek(offset, scanner_.depth()); }
  /// The text of the next value, checked for its syntax alone.
  std::string_view text();

  /// Calls read_member(name, place of the value) for each member; gives the names. No name comes
  /// twice.
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
  /// Reads the member that visit_members() has by this name; passes over another.
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
  /// An object of such members.
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

/// The next value, which stands in the column: of its type, or of any where it is a parameter's,
/// since two families may give parameters of different types the same name.
Field read_field(JsonValues& values, const Place& place, const ColumnInfo& column);
/// The same into a record. Throws ReportError where the column does not allow the value.
void read_value(JsonValues& values, const Place& place, const RecordColumn& column,
                ResultRecord& record);

/// One member of an element of a report's "group_times".
void read_member(JsonValues& values, const std::string& name, const Place& place,
                 GroupTimes& group);

}  // namespace gpuexp
