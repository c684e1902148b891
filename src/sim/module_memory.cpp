#include "sim/module_memory.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/function_addresses.hpp"

namespace gpuexp::sim {

namespace {

// Gaps between variables make an access past the end of one a fault.
std::vector<std::size_t> offsets_of(const ModuleData& data) {
  constexpr std::size_t kAlignment = 256;  // as of cudaMalloc; a variable's own is at most 128
  std::vector<std::size_t> offsets;
  std::size_t next = 0;
  for (const ModuleVariable& variable : data.variables) {
    offsets.push_back(next);
    if (!variable.is_constant) next += (variable.bytes / kAlignment + 1) * kAlignment;
  }
  offsets.push_back(next);
  return offsets;
}

}  // namespace

ModuleMemory::ModuleMemory(const ModuleData& data, GlobalMemory& global)
    : data_(data),
      global_(global),
      offsets_(offsets_of(data)),
      memory_(offsets_.back()),
      constants_(data.constants),
      addresses_(data.address_bank_bytes) {
  for (std::size_t i = 0; i < data_.variables.size(); ++i) {
    const ModuleVariable& variable = data_.variables[i];
    if (!variable.is_constant && variable.bytes > 0)
      global_.add(begin_of(i), variable.bytes, variable.lowered_name);
    initialize(i);
  }
  store_addresses(data_.addresses, addresses_.data());
  for (const FunctionAddress& function : data_.functions) {
    const std::uint64_t value = address_of_function(function.lowered_name);
    std::memcpy(addresses_.data() + function.offset, &value, sizeof value);
  }
}

std::byte* ModuleMemory::copied(std::string_view lowered_name, std::uint64_t bytes) {
  const ModuleVariable* const variable = data_.find(lowered_name);
  if (!variable)
    throw std::runtime_error(fmt::format("the module has no variable {}", lowered_name));
  if (variable->bytes != bytes)
    throw std::runtime_error(fmt::format("the variable {} has {} bytes, but its buffer has {}",
                                         lowered_name, variable->bytes, bytes));
  const auto index = static_cast<std::size_t>(variable - data_.variables.data());
  copied_.insert(index);
  return begin_of(index);
}

void ModuleMemory::restore() {
  for (std::size_t i = 0; i < data_.variables.size(); ++i) {
    if (!copied_.contains(i)) initialize(i);
  }
}

std::byte* ModuleMemory::begin_of(std::size_t variable) {
  const ModuleVariable& of = data_.variables[variable];
  return of.is_constant ? constants_.data() + of.bank_offset
                        : memory_.data<std::byte>() + offsets_[variable];
}

void ModuleMemory::store_addresses(const std::vector<VariableAddress>& addresses, std::byte* to) {
  for (const VariableAddress& address : addresses) {
    const std::uint64_t value =
        reinterpret_cast<std::uint64_t>(begin_of(address.variable)) + address.addend;
    std::memcpy(to + address.offset, &value, sizeof value);
  }
}

void ModuleMemory::initialize(std::size_t variable) {
  const ModuleVariable& of = data_.variables[variable];
  std::byte* const begin = begin_of(variable);
  if (of.contents.empty()) {
    std::memset(begin, 0, of.bytes);
  } else {
    std::copy(of.contents.begin(), of.contents.end(), begin);
  }
  store_addresses(of.addresses, begin);
  if (!of.is_constant) global_.note_fill(begin, of.bytes);
}

}  // namespace gpuexp::sim
