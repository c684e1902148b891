#include "sass/module_data.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kInitialized = ".nv.global.init";
constexpr std::string_view kZeroed = ".nv.global";
constexpr std::string_view kConstants = ".nv.constant3";
constexpr std::string_view kAddresses = ".nv.constant4";

std::uint64_t hexadecimal(std::string_view digits) {
  if (digits.starts_with("0x")) digits.remove_prefix(2);
  std::string_view rest = digits;
  const auto number = take_number<std::uint64_t>(rest, 16);
  if (!number || !rest.empty())
    throw std::runtime_error(fmt::format("'{}' is not a hexadecimal number", digits));
  return *number;
}

struct Symbol {
  std::string name;
  std::uint64_t section = 0;  ///< index of its section
  std::uint64_t offset = 0;   ///< in the section
  std::uint64_t bytes = 0;
};

struct Relocation {
  std::uint64_t offset = 0;
  std::string symbol;
  std::optional<std::uint64_t> addend;  ///< empty: the place holds it
};

/// The parts of the dump that describe variables.
struct Dump {
  std::map<std::uint64_t, std::string> sections;  ///< names by index
  std::map<std::string, std::uint64_t, std::less<>> section_bytes;
  std::vector<Symbol> variables;
  std::map<std::string, std::vector<std::byte>, std::less<>> contents;
  std::map<std::string, std::vector<Relocation>, std::less<>> relocations;
};

// "  16   1f00     4b  0  8                     PROGBITS        3    0        0 .nv.global.init"
void read_section(std::string_view line, Dump& dump) {
  const std::uint64_t index = hexadecimal(take_word(line));
  take_word(line);  // offset in the file
  const std::uint64_t bytes = hexadecimal(take_word(line));
  const std::string name(trimmed(line.substr(line.find_last_of(kBlanks) + 1)));
  dump.sections[index] = name;
  dump.section_bytes[name] = bytes;
}

// "0x7            0x14             0x4      0x1        0   0x16     counter"
void read_symbol(std::string_view line, Dump& dump) {
  constexpr std::uint64_t kTypeMask = 0xf;
  constexpr std::uint64_t kObject = 1;
  take_word(line);  // index
  Symbol symbol;
  symbol.offset = hexadecimal(take_word(line));
  symbol.bytes = hexadecimal(take_word(line));
  const std::uint64_t info = hexadecimal(take_word(line));
  take_word(line);  // visibility
  symbol.section = hexadecimal(take_word(line));
  symbol.name = trimmed(line);
  if ((info & kTypeMask) == kObject) dump.variables.push_back(std::move(symbol));
}

// "0x40    table    R_CUDA_64    0x0"; sections of type REL have no addend.
void read_relocation(std::string_view line, std::vector<Relocation>& relocations) {
  Relocation relocation;
  relocation.offset = hexadecimal(take_word(line));
  relocation.symbol = take_word(line);
  const std::string_view type = take_word(line);
  if (type != "R_CUDA_64" && type != "R_CUDA_G64") return;
  if (const std::string_view addend = take_word(line); !addend.empty())
    relocation.addend = hexadecimal(addend);
  relocations.push_back(std::move(relocation));
}

// A line of words, or of single bytes at the end of a section.
void read_contents(std::string_view line, std::vector<std::byte>& contents) {
  constexpr std::size_t kByteDigits = 4;  // "0x4b"
  while (!line.empty()) {
    const std::string_view digits = take_word(line);
    const std::uint64_t value = hexadecimal(digits);
    const std::size_t bytes = digits.size() <= kByteDigits ? 1 : sizeof(std::uint32_t);
    for (std::size_t i = 0; i < bytes; ++i)
      contents.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
  }
}

Dump read_dump(std::string_view text) {
  constexpr std::string_view kSection = ".section ";
  enum class Part { none, sections, symbols, relocations, contents } part = Part::none;
  Dump dump;
  std::string of;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, "\n"));
    if (line == "Sections:") {
      part = Part::sections;
    } else if (line.starts_with(kSection)) {
      std::string_view name = line.substr(kSection.size());
      name = take_word(name);
      const std::string_view target = name.substr(std::min(name.find('.', 1), name.size()));
      const bool relocates = name.starts_with(".rel.") || name.starts_with(".rela.");
      part = name == ".symtab" ? Part::symbols : relocates ? Part::relocations : Part::none;
      of = target;
    } else if (line == kInitialized || line == kConstants || line == kAddresses) {
      part = Part::contents;
      of = line;
    } else if (line.empty() || line.starts_with("Index ") || line.starts_with("index ")) {
      continue;
    } else if (part == Part::sections && line.find_first_of("0123456789abcdef") == 0) {
      read_section(line, dump);
    } else if (part == Part::symbols && line.find_first_of("0123456789") == 0) {
      read_symbol(line, dump);
    } else if (part == Part::relocations && line.starts_with("0x")) {
      read_relocation(line, dump.relocations[of]);
    } else if (part == Part::contents && line.starts_with("0x")) {
      read_contents(line, dump.contents[of]);
    } else {
      part = Part::none;
    }
  }
  return dump;
}

template <class Map, class Key>
typename Map::mapped_type value_of(const Map& map, const Key& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type{} : found->second;
}

// The bytes [offset, offset + bytes) of a section. Throws std::runtime_error if it is shorter.
std::vector<std::byte> bytes_of(const std::vector<std::byte>& section, std::uint64_t offset,
                                std::uint64_t bytes) {
  if (offset > section.size() || bytes > section.size() - offset)
    throw std::runtime_error(fmt::format("{} bytes at {:#x} are outside of a section of {} bytes",
                                         bytes, offset, section.size()));
  const auto first = section.begin() + static_cast<std::ptrdiff_t>(offset);
  return {first, first + static_cast<std::ptrdiff_t>(bytes)};
}

/// The addresses in a section whose contents are `section`, without those of functions.
std::vector<VariableAddress> addresses_in(const std::vector<Relocation>& relocations,
                                          const std::vector<std::byte>& section,
                                          const std::vector<ModuleVariable>& variables) {
  std::vector<VariableAddress> addresses;
  for (const Relocation& relocation : relocations) {
    const auto found =
        std::ranges::find(variables, relocation.symbol, &ModuleVariable::lowered_name);
    if (found == variables.end() || found->is_constant) continue;
    std::uint64_t addend = relocation.addend.value_or(0);
    if (!relocation.addend) {
      const std::vector<std::byte> held = bytes_of(section, relocation.offset, sizeof addend);
      std::copy(held.begin(), held.end(), reinterpret_cast<std::byte*>(&addend));
    }
    addresses.push_back(
        {relocation.offset, static_cast<std::size_t>(found - variables.begin()), addend});
  }
  return addresses;
}

// Moves the addresses in a section to the variables that contain them.
void place_addresses(const std::vector<VariableAddress>& addresses, std::string_view section,
                     const Dump& dump, std::vector<ModuleVariable>& variables) {
  for (const VariableAddress& address : addresses) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      const Symbol& symbol = dump.variables[i];
      const bool is_inside = address.offset >= symbol.offset &&
                             address.offset - symbol.offset + sizeof(std::uint64_t) <= symbol.bytes;
      if (is_inside && value_of(dump.sections, symbol.section) == section)
        variables[i].addresses.push_back(
            {address.offset - symbol.offset, address.variable, address.addend});
    }
  }
}

}  // namespace

const ModuleVariable* ModuleData::find(std::string_view lowered_name) const {
  const auto found = std::ranges::find(variables, lowered_name, &ModuleVariable::lowered_name);
  return found == variables.end() ? nullptr : &*found;
}

ModuleData read_module_data(std::string_view text) {
  Dump dump = read_dump(text);
  std::erase_if(dump.variables, [&](const Symbol& symbol) {
    const std::string section = value_of(dump.sections, symbol.section);
    return section != kInitialized && section != kZeroed && section != kConstants;
  });
  ModuleData data;
  for (const Symbol& symbol : dump.variables) {
    const std::string section = dump.sections.at(symbol.section);
    ModuleVariable& variable = data.variables.emplace_back();
    variable.lowered_name = symbol.name;
    variable.is_constant = section == kConstants;
    if (variable.is_constant) variable.bank_offset = symbol.offset;
    variable.bytes = symbol.bytes;
    if (section != kZeroed)
      variable.contents = bytes_of(value_of(dump.contents, section), symbol.offset, symbol.bytes);
  }
  data.constants = value_of(dump.contents, kConstants);
  data.address_bank_bytes = value_of(dump.section_bytes, kAddresses);
  const auto addresses = [&](std::string_view section) {
    return addresses_in(value_of(dump.relocations, section), value_of(dump.contents, section),
                        data.variables);
  };
  data.addresses = addresses(kAddresses);
  for (const Relocation& relocation : value_of(dump.relocations, kAddresses)) {
    if (data.find(relocation.symbol)) continue;
    if (relocation.offset + sizeof(std::uint64_t) > data.address_bank_bytes)
      throw std::runtime_error(
          fmt::format("the address of {} is outside of constant bank 4", relocation.symbol));
    data.functions.push_back({relocation.offset, relocation.symbol});
  }
  place_addresses(addresses(kInitialized), kInitialized, dump, data.variables);
  place_addresses(addresses(kConstants), kConstants, dump, data.variables);
  return data;
}

}  // namespace gpuexp
