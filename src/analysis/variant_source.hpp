// A variant's section of its family's source, with the number of machine instructions of each line.
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
  /// Number of static instructions; in the section, with code inlined at the line.
  int instructions = 0;
  std::string classes;  ///< characteristic instructions among these: "2 LDG.128, 1 BAR.SYNC"
};

struct SourcePart {
  std::string file;  ///< "kernels/matmul.cu"
  std::vector<CodeLine> lines;
};

/// All lines of a file's text, which must outlive the part, without instructions.
SourcePart whole_file(std::string name, std::string_view text);

struct VariantSource {
  SourcePart section;              ///< code after the variant's `why` comment; may be empty
  std::vector<SourcePart> others;  ///< lines of its kernels outside of the section
  std::string architecture;        ///< architecture of the machine code, "9.0"; empty: none
  int instructions = 0;            ///< number of static instructions of the kernels of one launch
};

class VariantSources {
 public:
  VariantSources(const SourceText* texts, std::size_t count, const KernelResources& resources)
      : texts_(texts), count_(count), files_(texts, count), resources_(resources) {}

  /// The source of a variant. `problem` determines the kernels of the launch. If it or `device` is
  /// null, and for library variants, only the section is returned, without instructions.
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
