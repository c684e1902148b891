// A variant's section of its family's source, line by line, with the machine instructions that the
// compiler made of each line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "device/device_spec.hpp"
#include "family/registry.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

struct CodeLine {
  std::uint32_t number = 0;
  std::string_view text;
  int instructions =
      0;  ///< made of it, and of what was inlined there; each once, however often it runs
  std::string classes;  ///< of these, those that say how a kernel works: "2 LDG.128, 1 BAR.SYNC"
};

struct VariantSource {
  std::string file;             ///< "kernels/matmul.cu"; empty: no section was found
  std::vector<CodeLine> lines;  ///< behind the comment that says why the variant exists
  std::string architecture;     ///< "9.0", that the machine code is for; empty: there is none
  int instructions = 0;         ///< of the kernels that one launch has
  int elsewhere = 0;            ///< of these, made of lines outside of the section
};

/// Sources and machine code that a program was built with.
class VariantSources {
 public:
  /// Of tables that outlive it.
  VariantSources(const SourceText* texts, std::size_t count, const KernelResources& resources)
      : texts_(texts), count_(count), resources_(resources) {}

  /// `problem` is the family's, of which the launch is asked for its kernels; null: lines alone.
  VariantSource of(const Family& family, const Variant& variant, const void* problem,
                   const DeviceSpec* device) const;

 private:
  void find_section(VariantSource& source, const Family& family, const Variant& variant) const;
  void count_code(VariantSource& source, const Variant& variant, const void* problem,
                  const DeviceSpec& device) const;

  const SourceText* texts_;
  std::size_t count_;
  const KernelResources& resources_;
};

}  // namespace gpuexp
