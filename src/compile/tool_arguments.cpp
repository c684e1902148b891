#include "compile/tool_arguments.hpp"

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/text.hpp"
#include "compile/assembler.hpp"

namespace gpuexp {

namespace fs = std::filesystem;

void check_path(const fs::path& source) {
  const char found = shell_character(source.string());
  if (found != 0)
    throw InputError(fmt::format(
        "{}: nvcc cannot compile a file whose path contains the character '{}': rename it",
        printable(source.string()), printable(std::string(1, found))));
}

// nvcc splits the value of -I at commas, even escaped ones.
std::string include_folder(const std::string& given, const fs::path& source) {
  const fs::path folder = (source.parent_path() / given).lexically_normal();
  if (!fs::is_directory(folder))
    throw InputError(fmt::format("{}: the option -I{} names no folder: expected {}",
                                 source.string(), given, folder.string()));
  if (folder.string().find(',') != std::string::npos)
    throw InputError(
        fmt::format("{}: nvcc cannot use an include folder whose path contains a comma: rename it",
                    folder.string()));
  return folder.string();
}

namespace {

// nvcc splits the value of -D at commas.
std::string with_escaped_commas(const std::string& text) {
  std::string escaped;
  for (const char c : text)
    escaped += c == ',' ? std::string("\\,") : std::string(1, c);
  return escaped;
}

// Arguments of nvcc that the options and the architecture determine.
std::vector<std::string> nvcc_options(const CompileOptions& options, const fs::path& source,
                                      const std::string& architecture) {
  // -arch=sm_90a would also assemble for sm_90, which lacks wgmma.
  const std::string number = architecture.substr(std::string("sm_").size());
  std::vector<std::string> words{"-gencode", fmt::format("arch=compute_{0},code=sm_{0}", number),
                                 "-lineinfo"};
  CompileOptions complete = parsed_options(option_words(options));  // refuses unsafe values
  if (complete.standard.empty()) complete.standard = "c++17";
  for (std::string& define : complete.defines)
    define = with_escaped_commas(define);
  for (std::string& folder : complete.include_folders)
    folder = include_folder(folder, source);
  const std::vector<std::string> chosen = option_words(complete);
  words.insert(words.end(), chosen.begin(), chosen.end());
  return words;
}

}  // namespace

std::vector<std::string> tool_options(KernelFileKind kind, const CompileOptions& options,
                                      const fs::path& source, const std::string& architecture) {
  switch (kind) {
    case KernelFileKind::source: return nvcc_options(options, source, architecture);
    case KernelFileKind::ptx: return ptxas_options(options, source, architecture);
    case KernelFileKind::cubin: break;
  }
  if (options != CompileOptions{})
    throw InputError(fmt::format("{}: the option {} has no effect on machine code; remove it",
                                 source.string(), option_words(options).front()));
  return {};
}

}  // namespace gpuexp
