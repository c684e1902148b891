#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/output.hpp"
#include "cli/app.hpp"
#include "cli/command_copy.hpp"
#include "cli/kernel_files.hpp"
#include "cli/progress.hpp"
#include "compile/nvcc_text.hpp"
#include "infer/initial_declaration.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

struct InitArguments {
  std::string file;
  std::string new_file;
  std::vector<std::string> launches;
  std::vector<std::string> options;
  bool write = false;
};

bool is_cu_file(const fs::path& path) {
  return path.extension() == ".cu";
}

/// Throws ConfigError unless the file has the suffix of kernel files and does not exist.
void check_is_new(const std::string& path) {
  if (!is_cu_file(path))
    throw ConfigError(fmt::format("{}: expected the name of a new file that ends in .cu", path));
  std::error_code error;
  if (fs::exists(fs::symlink_status(path, error)))
    throw ConfigError(fmt::format("{}: exists already; --new does not overwrite a file", path));
}

/// Creates the file. Throws ConfigError if it exists or cannot be created.
void write_new(const std::string& path, const std::string& text) {
  // "x" fails if another program has created the file meanwhile.
  std::FILE* const stream = std::fopen(path.c_str(), "wxe");
  if (!stream)
    throw ConfigError(fmt::format("{}: cannot create it: {}", path, std::strerror(errno)));
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> closing(stream, std::fclose);
  Output output(stream, path);
  output.write(text);
  output.flush();
}

/// Inserts the lines at the beginning of the file.
void write_into(const std::string& path, const std::string& lines) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  check_writable(path);
  std::string text = read_source(path);
  text.insert(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0, lines + "\n");
  write_file_atomically(path, text);
}

/// The path by which `new_file` includes `source`.
std::string include_path(const std::string& source, const std::string& new_file) {
  const fs::path folder =
      new_file.empty() ? fs::current_path() : fs::absolute(new_file).parent_path();
  return fs::proximate(fs::absolute(source), folder).generic_string();
}

infer::InitialDeclaration inferred(const InitArguments& arguments) {
  infer::InitRequest request{
      arguments.file, {arguments.launches.begin(), arguments.launches.end()}, arguments.options};
  std::optional<CountOnTerminal> shown;
  request.progress = [&](std::size_t done, std::size_t all) {
    if (done == 0) shown.emplace("executed launches", all);
    if (done > 0) shown->add();
  };
  return infer::initial_declaration(request, kernel_compiler());
}

ExitCode declare(const InitArguments& arguments) {
  const bool needs_including_file = !is_cu_file(arguments.file);
  if (arguments.write && needs_including_file)
    throw ConfigError(
        fmt::format("{}: gpuexp takes files that end in .cu; write a file that includes it with "
                    "--new FILE.cu",
                    arguments.file));
  const infer::InitialDeclaration declaration = inferred(arguments);
  if (arguments.write) {
    write_into(arguments.file, infer::lines_for_file(declaration));
  } else if (!arguments.new_file.empty() || needs_including_file) {
    const std::string text =
        infer::including_file(declaration, include_path(arguments.file, arguments.new_file));
    arguments.new_file.empty() ? fmt::print("{}", text) : write_new(arguments.new_file, text);
  } else {
    fmt::print("{}", infer::lines_for_file(declaration));
  }
  return ExitCode::ok;
}

ExitCode init(const InitArguments& arguments) {
  if (arguments.file.empty() && arguments.new_file.empty())
    throw ConfigError("expected a kernel file, or --new FILE.cu for a file with an example");
  if (arguments.write && !arguments.new_file.empty())
    throw ConfigError("--write and --new exclude each other");
  if (!arguments.new_file.empty()) check_is_new(arguments.new_file);
  if (!arguments.file.empty()) {
    if (const auto code = exit_code_of_copy()) return *code;
    return declare(arguments);
  }
  write_new(arguments.new_file, infer::new_kernel_file());
  fmt::print("wrote {0}; try: gpuexp verify {0} --simulate h200\n", arguments.new_file);
  return ExitCode::ok;
}

}  // namespace

void add_init(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "init", "write a declaration for a kernel file, or a new kernel file with an example");
  auto options = std::make_shared<InitArguments>();
  command->add_option("file", options->file,
                      "kernel file without a declaration; prints the declaration, whose launches "
                      "are found in the text, and sizes by executing the kernels on the CPU");
  command->add_flag("--write", options->write, "insert the declaration into the file");
  command
      ->add_option("--new", options->new_file,
                   "write a new file: an example, or the declaration and an #include of the given "
                   "file; never overwrites a file")
      ->type_name("FILE.cu");
  command
      ->add_option("--launches", options->launches,
                   "file with launches of the kernels; default: the file itself, its folder and "
                   "the parent folder")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command
      ->add_option("--option", options->options,
                   "option of the compiler, as in the declaration: -DTILE=32")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  command->footer("example: gpuexp init --new axpy.cu      or: gpuexp init kernels.cu --write");
  on_chosen(*command, context, [options] { return init(*options); });
}

}  // namespace gpuexp::cli
