#include "compile/assembler.hpp"

#include <string_view>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/text_parts.hpp"
#include "compile/compile_error.hpp"
#include "compile/nvcc_text.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

// "ptxas k.ptx, line 9; fatal   : Unsupported .version 9.7; current version is '9.0'"
std::string newer_version_text(const fs::path& ptx, std::string_view messages,
                               const ToolkitTools& tools) {
  take_until(messages, ", line ");
  const int line = take_number<int>(messages).value_or(1);
  take_until(messages, "Unsupported .version ");
  const std::string_view version = take_until(messages, ";");
  take_until(messages, "current version is '");
  const std::string_view newest = take_until(messages, "'");
  if (version.empty() || newest.empty()) return "";
  return fmt::format(
      "{}:{}: is PTX of version {}, but ptxas {} ({}) knows PTX up to version {}; install a newer "
      "CUDA Toolkit, or a newer version of the Python package nvidia-cuda-nvcc",
      ptx.string(), line, version, tools.version_of("ptxas"), tools.path_of("ptxas"), newest);
}

}  // namespace

std::vector<std::string> ptxas_options(const CompileOptions& options, const fs::path& ptx,
                                       const std::string& architecture) {
  std::vector<std::string> words{"-arch=" + architecture, "-lineinfo"};
  CompileOptions others = options;
  others.max_registers = 0;
  if (others != CompileOptions{})
    throw InputError(
        fmt::format("{}: the option {} is one of a compiler of CUDA C++; a PTX file can have only "
                    "-maxrregcount=N",
                    ptx.string(), option_words(others).front()));
  for (const std::string& word : option_words(options))
    words.push_back(word);
  return words;
}

void assemble(const fs::path& ptx, const std::vector<std::string>& options,
              const ToolkitTools& tools, const TemporaryFolder& folder, const std::string& cubin,
              const ToolLimits& limits) {
  std::vector<std::string> words = options;
  words.insert(words.end(), {ptx.string(), "-o", folder / cubin});
  try {
    tools.run("ptxas", words, folder, "assembled", limits);
  } catch (const ToolFailure&) {
    const std::string messages = text_of_file(folder / ToolkitTools::kErrors);
    const std::string newer = newer_version_text(ptx, messages, tools);
    if (!newer.empty()) throw CompileError(newer);
    throw CompileError(
        fmt::format("{}: ptxas cannot assemble it:\n{}", ptx.string(), compile_errors(messages)));
  } catch (const ToolError& error) {
    throw ToolError(fmt::format("{}: {}", ptx.string(), error.what()));
  }
}

}  // namespace gpuexp
