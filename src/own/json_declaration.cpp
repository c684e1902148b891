#include "own/json_declaration.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "base/names.hpp"
#include "own/declaration_reader.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::own {

namespace {

namespace fs = std::filesystem;

using JsonNode = gpuexp::Node;

bool is_name(std::string_view text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  return !text.empty() && is_letter(static_cast<unsigned char>(text.front())) &&
         std::ranges::all_of(text,
                             [&](unsigned char c) { return is_letter(c) || std::isdigit(c) != 0; });
}

/// A number or a string.
std::string text_of_value(const JsonNode& node, std::string_view what) {
  if (node.json().is_number()) return node.json().dump();
  if (node.json().is_string()) return node.text();
  node.fail(fmt::format("expected {}, found {}", what, describe(node.json())));
}

/// The items of a list, or the entry itself.
std::vector<JsonNode> each(const JsonNode& node, std::string_view what) {
  return node.json().is_array() ? node.items(what) : std::vector<JsonNode>{node};
}

class EntryReader {
 public:
  EntryReader(const std::string& file, const Json& json) : file_(file), root_(json, file, "$") {}

  JsonDeclaration read() {
    root_.check_keys(kDeclarationKeys);
    if (const auto schema = root_.find("$schema")) schema->text();
    const fs::path source = source_file();
    read_options();
    if (const auto node = root_.find("parameters")) read_parameters(*node);
    if (const auto node = root_.find("buffers")) read_buffers(*node);
    read_statements("require", "a condition such as \"n % 32 == 0\"");
    if (const auto node = root_.find("variants")) read_variants(*node);
    read_statements("check", "a check such as \"y[i] = 2*x[i]\"");
    read_statements("reference", "a launch such as \"kernel<<<n/256, 256>>>\", or \"first\"");
    read_statements("tolerance", "a number");
    read_statements("work", "an amount such as \"fp32 = 2*m*n*k\"");
    std::vector<Statement> statements;
    for (const EntryStatement& entry : entries_)
      statements.emplace_back(file_, entry);
    return {declaration_of(file_, statements), source};
  }

 private:
  fs::path folder() const { return fs::path(file_).parent_path(); }

  fs::path source_file() const {
    const JsonNode node = root_.require("source");
    const std::string name = node.text();
    const bool has_kernels =
        std::ranges::any_of(std::array{".cu", ".cuh", ".ptx", ".cubin"},
                            [&](const char* end) { return name.ends_with(end); });
    if (!has_kernels)
      node.fail(
          fmt::format("'{}' is not a file with kernels; expected a name that ends in .cu, "
                      ".cuh, .ptx or .cubin",
                      shorten(name)));
    return (folder() / name).lexically_normal();
  }

  /// Adds the statement that consists of the prefix and the value.
  EntryStatement& add(const JsonNode& node, const std::string& prefix, std::string value) {
    EntryStatement& entry = entries_.emplace_back();
    entry.text = prefix + value;
    entry.prefix_size = prefix.size();
    entry.entry = std::make_shared<const JsonEntry>(JsonEntry{node.path(), std::move(value)});
    return entry;
  }

  /// Adds a statement that begins with the key for each text or number.
  void read_statements(const std::string& key, std::string_view what) {
    const auto found = root_.find(key);
    if (!found) return;
    for (const JsonNode& node : each(*found, what))
      add(node, key + " ", text_of_value(node, what));
  }

  static std::string word(const JsonNode& node, std::string_view what) {
    std::string text = text_of_value(node, what);
    const bool has_blank = std::ranges::any_of(text, [](unsigned char c) { return c <= ' '; });
    if (text.empty() || has_blank)
      node.fail(fmt::format("expected {} without blanks, found '{}'", what, shorten(text)));
    return text;
  }

  void read_options() {
    if (const auto found = root_.find("include")) {
      const std::string prefix = "option -I" + (fs::absolute(file_).parent_path() / "").string();
      for (const JsonNode& node : each(*found, "a folder"))
        add(node, fs::path(word(node, "a folder")).is_absolute() ? "option -I" : prefix,
            word(node, "a folder"));
    }
    if (const auto found = root_.find("define")) read_macros(*found);
    read_statements("option", "an option such as \"-std=c++20\"");
  }

  void read_macros(const JsonNode& macros) {
    if (!macros.json().is_object()) {
      for (const JsonNode& node : each(macros, "a macro such as \"TILE=32\""))
        add(node, "option -D", word(node, "a macro such as \"TILE=32\""));
      return;
    }
    for (const auto& [name, node] : named(macros, "macro")) {
      if (node.json().is_array())
        add(node, fmt::format("define {} = ", name), values_of(node));
      else
        add(node, fmt::format("option -D{}=", name), word(node, "a number or text"));
    }
  }

  /// Members of an object whose keys are names.
  static std::vector<std::pair<std::string, JsonNode>> named(const JsonNode& object,
                                                             std::string_view what) {
    auto members = object.members(fmt::format("an object with a member for each {}", what));
    for (const auto& [name, node] : members) {
      if (!is_name(name))
        node.fail(fmt::format("'{}' is not the name of a {}; expected letters, digits and '_'",
                              shorten(name), what));
    }
    return members;
  }

  /// Values of a parameter as a statement has them: "16, 32".
  static std::string values_of(const JsonNode& node) {
    std::vector<std::string> values;
    for (const JsonNode& value : each(node, "a number, a list of numbers or text"))
      values.push_back(text_of_value(value, "a number or text such as \"2^20..2^26\""));
    std::string text = fmt::format("{}", fmt::join(values, ", "));
    if (text.find('<') != std::string::npos)
      node.fail(fmt::format("expected a number or text such as \"2^20..2^26\", found '{}'",
                            shorten(text)));
    return text;
  }

  static std::string type_of_number(const JsonNode& node) {
    const std::string type = node.text();
    if (is_number(type_named(type))) return type;
    const std::vector<std::string> known{"bool",     "short",     "unsigned short",     "int",
                                         "unsigned", "long long", "unsigned long long", "float",
                                         "double"};
    node.fail(fmt::format("'{}' is not the type of a number that a launch can pass{}",
                          shorten(type), allowed_names(type, known)));
  }

  void read_parameters(const JsonNode& parameters) {
    for (const auto& [name, node] : named(parameters, "parameter")) {
      if (!node.json().is_object()) {
        add(node, name + " = ", values_of(node));
        continue;
      }
      node.check_keys(kTypedParameterKeys);
      const JsonNode values = node.require("values");
      add(values, fmt::format("{} {} = ", type_of_number(node.require("type")), name),
          values_of(values));
    }
  }

  /// Inserts the name at the first extent: "in [n]" becomes "in x[n]".
  void read_buffers(const JsonNode& buffers) {
    for (const auto& [name, node] : named(buffers, "buffer")) {
      std::string value = node.text();
      const std::size_t at = value.find('[');
      if (at == std::string::npos)
        node.fail(fmt::format("expected extents such as \"[n]\", found '{}'", shorten(value)));
      EntryStatement& entry = add(node, "", value);
      const std::string inserted = " " + name;
      entry.name_begin = at;
      entry.name_size = inserted.size();
      entry.text.insert(at, inserted);
    }
  }

  void read_variants(const JsonNode& variants) {
    for (const auto& [name, node] : named(variants, "variant")) {
      std::string value = node.text();
      if (value.find("<<<") == std::string::npos)
        node.fail(fmt::format("expected a launch such as \"kernel<<<n/256, 256>>>\", found '{}'",
                              shorten(value)));
      add(node, name + " = ", std::move(value));
    }
  }

  const std::string& file_;
  JsonNode root_;
  std::list<EntryStatement> entries_;  // statements refer to them
};

}  // namespace

JsonDeclaration read_json_declaration(const std::string& file, std::string_view text) {
  const Json json = read_json(text, file);
  return EntryReader(file, json).read();
}

}  // namespace gpuexp::own
