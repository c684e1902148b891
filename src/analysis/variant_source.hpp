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
#include "sass/source_files.hpp"

namespace gpuexp {

struct CodeLine {
  std::uint32_t number = 0;
  std::string_view text;
  int instructions =
      0;  ///< made of it, and of what was inlined there; each once, however often it runs
  std::string classes;  ///< of these, those that say how a kernel works: "2 LDG.128, 1 BAR.SYNC"
};

/// Lines of one file, by number; not all of them need to follow each other.
struct SourcePart {
  std::string file;  ///< "kernels/matmul.cu"
  std::vector<CodeLine> lines;
};

struct VariantSource {
  SourcePart section;  ///< behind the comment that says why the variant exists; may be empty
  std::vector<SourcePart> others;  ///< lines elsewhere that its kernels are made of
  std::string architecture;        ///< "9.0", that the machine code is for; empty: there is none
  int instructions = 0;            ///< of the kernels that one launch has
};

/// Sources and machine code that a program was built with.
class VariantSources {
 public:
  /// Of tables that outlive it.
  VariantSources(const SourceText* texts, std::size_t count, const KernelResources& resources)
      : texts_(texts), count_(count), files_(texts, count), resources_(resources) {}

  /// `problem` is the family's, of which the launch is asked for its kernels; null: lines alone.
  VariantSource of(const Family& family, const Variant& variant, const void* problem,
                   const DeviceSpec* device) const;

 private:
  SourcePart section_of(const Family& family, const Variant& variant) const;
  void count_code(VariantSource& source, const Variant& variant, const void* problem,
                  const DeviceSpec& device) const;

  const SourceText* texts_;
  std::size_t count_;
  SourceFiles files_;
  const KernelResources& resources_;
};

}  // namespace gpuexp
