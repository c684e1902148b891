// Files that contain kernels: CUDA C++, PTX and machine code.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

enum class KernelFileKind {
  source,  ///< CUDA C++, which a compiler translates
  ptx,     ///< PTX, which ptxas translates
  cubin,   ///< machine code of one architecture
};

/// By the name: .ptx and .cubin; all other names are CUDA C++.
KernelFileKind kind_of(const std::filesystem::path& file);

/// The contents of a kernel file. Throws InputError if it is missing, not a regular file, empty, or
/// larger than 4 MiB (a cubin: 64 MiB); and if a file that is not a cubin is not UTF-8.
std::string read_kernel_input(const std::filesystem::path& file);

/// The most specific architecture of a compute capability: "sm_90a" for 90, "sm_80" for 80. Since
/// 9.0, some instructions exist only for the architectures with the suffix.
std::string architecture_for(int compute_capability);

/// Names of the kernels of a PTX file, in order, without parameters.
std::vector<std::string> kernels_in_ptx(std::string_view text);

/// Names of the kernels of a cubin, whose bytes may be damaged.
std::vector<std::string> kernels_in_cubin(std::string_view bytes);

/// The architectures for which a file has code, or can be translated.
struct CodeTarget {
  std::string name;       ///< "sm_90a"; empty for CUDA C++, whose targets only the compiler knows
  int architecture = 0;   ///< 90 for sm_90a; 0 for CUDA C++
  bool is_exact = false;  ///< false: later architectures, too
  bool is_machine_code = false;

  /// The compute capability (90 for 9.0) for which the file's kernels are found first. Kernels and
  /// their parameters do not depend on it.
  int first_compute_capability() const;
  /// Why there is no code for a compute capability, without the file's name; empty if there is, or
  /// if only a compiler knows.
  std::string refusal(int compute_capability) const;
};

/// Reads the directives of PTX, and a cubin's header. Throws InputError, with the file's name, if
/// the contents are neither.
CodeTarget code_target(const std::filesystem::path& file, std::string_view contents);

/// The version of the toolkit whose ptxas wrote the cubin, such as "13.0.88", which toolkits note
/// since 13.0; "unknown" if the cubin does not say.
std::string toolkit_version_of_cubin(std::string_view bytes);

}  // namespace gpuexp
