#include "infer/host_files.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "base/input_error.hpp"
#include "base/text_parts.hpp"
#include "compile/nvcc_text.hpp"

namespace gpuexp::infer {

namespace fs = std::filesystem;

namespace {

bool is_source_file(const fs::path& path) {
  constexpr std::array<std::string_view, 7> kSuffixes{".cu",  ".cuh", ".cpp", ".cc",
                                                      ".cxx", ".h",   ".hpp"};
  return std::ranges::find(kSuffixes, path.extension().string()) != kSuffixes.end();
}

/// Source files of the folder, in alphabetical order.
std::vector<fs::path> sources_in(const fs::path& folder) {
  constexpr std::size_t kMaxFiles = 200;
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_regular_file(error) && is_source_file(entry.path())) files.push_back(entry.path());
    if (files.size() == kMaxFiles) break;
  }
  std::ranges::sort(files);
  return files;
}

/// Existing files that the text includes in quotes.
std::vector<fs::path> included_files(const std::string& text, const fs::path& folder) {
  std::vector<fs::path> files;
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = trimmed(take_until(rest, "\n"));
    if (!line.starts_with('#')) continue;
    line = trimmed(line.substr(1));
    if (!line.starts_with("include")) continue;
    take_until(line, "\"");
    const fs::path file = folder / take_until(line, "\"");
    std::error_code error;
    if (fs::is_regular_file(file, error)) files.push_back(file.lexically_normal());
  }
  return files;
}

class HostCodeReader {
 public:
  explicit HostCodeReader(const HostFiles& files) : files_(files) {}

  HostCode code() {
    read();
    code_.instantiate_templates();
    return std::move(code_);
  }

 private:
  void read() {
    add_with_includes(files_.file, files_.file.string(), files_.text);
    for (const fs::path& file : files_.launch_files)
      add_with_includes(file, file.string(), read_source(file));
    const bool has_all = std::ranges::all_of(
        files_.kernels, [&](const std::string& kernel) { return is_launched(kernel); });
    if (has_all || !files_.launch_files.empty()) return;
    const fs::path folder = fs::absolute(files_.file).lexically_normal().parent_path();
    for (const fs::path& place : {folder, folder.parent_path()}) {
      for (const fs::path& file : sources_in(place)) {
        std::error_code error;
        if (!fs::equivalent(file, files_.file, error)) add_if_launching(file);
      }
    }
  }

  bool is_launched(const std::string& kernel) const {
    return std::ranges::any_of(code_.launches(),
                               [&](const TextLaunch& launch) { return launch.kernel == kernel; });
  }

  /// Adds a file that launches a kernel which is not launched in the files before it.
  void add_if_launching(const fs::path& file) {
    std::string text;
    try {
      text = read_source(file);
    } catch (const InputError&) {
      return;
    }
    HostCode alone;
    alone.add(file.string(), text);
    const bool is_needed = std::ranges::any_of(alone.launches(), [&](const TextLaunch& launch) {
      return std::ranges::find(files_.kernels, launch.kernel) != files_.kernels.end() &&
             !is_launched(launch.kernel);
    });
    if (is_needed) add_with_includes(file, fs::proximate(file).string(), text);
  }

  void add_with_includes(const fs::path& file, const std::string& name, const std::string& text) {
    code_.add(name, text);
    added_.insert(fs::absolute(file).lexically_normal());
    for (const fs::path& included : included_files(text, fs::absolute(file).parent_path())) {
      if (!added_.insert(included).second) continue;
      try {
        code_.add(fs::proximate(included).string(), read_source(included));
      } catch (const InputError&) {
        // Its constants remain unknown.
      }
    }
  }

  const HostFiles& files_;
  HostCode code_;
  std::set<fs::path> added_;  ///< absolute paths of the files in code_
};

}  // namespace

HostCode host_code_of(const HostFiles& files) {
  return HostCodeReader(files).code();
}

}  // namespace gpuexp::infer
