#include "base/demangled_name.hpp"

#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace gpuexp {

std::string demangled_name(const std::string& lowered_name) {
  // Without the prefix, the name is demangled as a type: "f" as "float".
  if (!lowered_name.starts_with("_Z")) return lowered_name;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(lowered_name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? text.get() : lowered_name;
}

}  // namespace gpuexp
