#include "compile/kernel_input.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/text_parts.hpp"
#include "compile/nvcc_text.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

// The rest of the first line that starts with the directive.
std::optional<std::string_view> directive(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    std::string_view line = trimmed(take_until(text, "\n"));
    if (line.starts_with("//")) continue;
    if (take_word(line) == name) return trimmed(line);
  }
  return std::nullopt;
}

std::string required_directive(const fs::path& file, std::string_view text, std::string_view name,
                               std::string_view example) {
  const auto found = directive(text, name);
  if (!found)
    throw InputError(
        fmt::format("{}: has no directive {}, so it is not PTX; expected a line such "
                    "as '{} {}'",
                    file.string(), name, name, example));
  std::string_view rest = *found;
  return std::string(trimmed(take_until(rest, ",")));
}

unsigned byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// Targets such as sm_90a have instructions that no other architecture has.
CodeTarget target_of_ptx(const fs::path& file, std::string_view text) {
  required_directive(file, text, ".version", "9.0");
  CodeTarget target;
  target.name = required_directive(file, text, ".target", "sm_90");
  target.is_exact = target.name.ends_with('a');
  std::string_view number = target.name;
  take_until(number, "sm_");
  target.architecture = take_number<int>(number).value_or(0);
  return target;
}

// The header is that of ELF. Bytes 7 and 8 are the system and the version of its interface; the
// flags, 4 bytes at 48, have the architecture: in the second byte since version 8, which CUDA 13
// writes, and in the first byte before.
CodeTarget target_of_cubin(const fs::path& file, std::string_view bytes) {
  constexpr std::string_view kElf64{
      "\x7f"
      "ELF\x02\x01",
      6};
  constexpr std::size_t kHeaderBytes = 64;
  constexpr std::size_t kInterfaceVersion = 8;
  constexpr std::size_t kMachine = 18;
  constexpr std::size_t kFlags = 48;
  constexpr unsigned kCuda = 190;
  constexpr unsigned kSecondByteSince = 8;
  const auto refuse = [&](std::string_view found) {
    throw InputError(fmt::format(
        "{}: is not a cubin: {}; expected a file that nvcc -cubin, ptxas, NVRTC or Triton wrote",
        file.string(), found));
  };
  if (!bytes.starts_with(kElf64)) refuse("it does not begin as a 64-bit ELF file does");
  if (bytes.size() < kHeaderBytes) refuse("it ends in the header");
  if (byte_at(bytes, kMachine) != kCuda || byte_at(bytes, kMachine + 1) != 0)
    refuse("it is an ELF file of another machine");
  const bool in_second = byte_at(bytes, kInterfaceVersion) >= kSecondByteSince;
  const unsigned architecture = byte_at(bytes, kFlags + (in_second ? 1 : 0));
  return {fmt::format("sm_{}", architecture), static_cast<int>(architecture), true, true};
}

}  // namespace

KernelFileKind kind_of(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".ptx") return KernelFileKind::ptx;
  if (extension == ".cubin") return KernelFileKind::cubin;
  return KernelFileKind::source;
}

std::string read_kernel_input(const fs::path& file) {
  constexpr std::uintmax_t kMaxCubinBytes = std::uintmax_t{64} << 20;
  switch (kind_of(file)) {
    case KernelFileKind::cubin:
      return read_input(file, {"a cubin", "kernel.cubin", kMaxCubinBytes});
    case KernelFileKind::ptx:
      return read_text_input(file, {"a PTX file", "kernel.ptx", kMaxSourceBytes});
    case KernelFileKind::source: break;
  }
  return read_source(file);
}

std::string architecture_for(int compute_capability) {
  constexpr int kSpecificSince = 90;
  return fmt::format("sm_{}{}", compute_capability,
                     compute_capability >= kSpecificSince ? "a" : "");
}

std::vector<std::string> kernels_in_ptx(std::string_view text) {
  constexpr std::string_view kEntry = ".entry ";
  std::vector<std::string> kernels;
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    const std::size_t at = line.find(kEntry);
    if (at == std::string_view::npos || trimmed(line).starts_with("//")) continue;
    line = trimmed(line.substr(at + kEntry.size()));
    kernels.push_back(kernel_name(std::string(take_until(line, "("))));
  }
  return kernels;
}

// Each kernel has a section for its parameters, whose name is in the table of names.
std::vector<std::string> kernels_in_cubin(std::string_view bytes) {
  constexpr std::string_view kSection = ".nv.constant0.";
  std::vector<std::string> kernels;
  while (!bytes.empty()) {
    take_until(bytes, kSection);
    const std::string name(bytes.substr(0, bytes.find('\0')));
    if (name.empty()) continue;
    const std::string kernel = kernel_name(name);
    if (std::ranges::find(kernels, kernel) == kernels.end()) kernels.push_back(kernel);
  }
  return kernels;
}

int CodeTarget::first_compute_capability() const {
  constexpr int kFirst = 90;
  return is_exact ? architecture : std::max(kFirst, architecture);
}

std::string CodeTarget::refusal(int compute_capability) const {
  const bool is_served =
      is_exact ? architecture == compute_capability : architecture <= compute_capability;
  if (is_served) return "";
  const std::string needed = architecture_for(compute_capability);
  if (is_machine_code) {
    // Since 9.0, the header does not show whether the code is for one architecture only (sm_100a).
    constexpr int kSpecificSince = 90;
    const bool runs_elsewhere = architecture < kSpecificSince &&
                                architecture / 10 == compute_capability / 10 &&
                                architecture < compute_capability;
    return fmt::format(
        "has machine code for {0}, but {1} is needed; gpuexp uses a cubin only on its own "
        "architecture{2}: compile it for {1}, or use its PTX or source",
        name, needed,
        runs_elsewhere
            ? fmt::format(", although CUDA executes code for {} on {}, too", name, needed)
            : "");
  }
  return fmt::format(
      "is PTX for {}, but {} is needed; it serves {}: compile it for {}, or use its "
      "source",
      name, needed, is_exact ? "only its own target" : "its target and later ones", needed);
}

CodeTarget code_target(const fs::path& file, std::string_view contents) {
  switch (kind_of(file)) {
    case KernelFileKind::cubin: return target_of_cubin(file, contents);
    case KernelFileKind::ptx: return target_of_ptx(file, contents);
    case KernelFileKind::source: break;
  }
  return {};
}

// "Cuda compilation tools, release 13.0, V13.0.88" in the section .note.nv.tkinfo.
std::string toolkit_version_of_cubin(std::string_view bytes) {
  take_until(bytes, "Cuda compilation tools, release ");
  take_until(bytes, ", V");
  const std::string_view version =
      bytes.substr(0, std::min(bytes.find_first_not_of("0123456789."), bytes.size()));
  return version.empty() ? "unknown" : std::string(version);
}

}  // namespace gpuexp
