// Runs the chosen subcommand, and converts errors to messages and exit codes.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/input_error.hpp"
#include "base/names.hpp"
#include "base/report_error.hpp"
#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/kernel_files.hpp"
#include "cli/usage_error.hpp"
#include "gpu/own_kernels.hpp"

namespace {

using gpuexp::cli::Context;
using gpuexp::cli::ExitCode;

void add_subcommands(CLI::App& app, Context& context) {
  using namespace gpuexp::cli;
  add_list(app, context);
  add_describe(app, context);
  add_annotate(app, context);
  add_init(app, context);
  add_plan(app, context);
  add_predict(app, context);
  add_run(app, context);
  add_verify(app, context);
  add_tune(app, context);
  add_watch(app, context);
  add_info(app, context);
  add_merge(app, context);
  add_report(app, context);
  add_explain(app, context);
  add_lesson(app, context);
  add_compare(app, context);
  add_schema(app, context);
  add_worker(app, context);
  add_nvrtc_compile(app, context);
  app.require_subcommand(1, 1);
  app.footer(
      "example: gpuexp run quickstart      or, with no GPU: gpuexp predict quickstart --gpu h200\n"
      "help on a subcommand: gpuexp help run, or gpuexp run --help");
}

void check_subcommand(const CLI::App& app, const std::string& given) {
  std::vector<std::string> names;  // visible subcommands
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == given) return;
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  if (gpuexp::is_kernel_file(given))
    throw gpuexp::ConfigError(fmt::format(
        "{0}: expected a subcommand before the file, as in: gpuexp verify {0} --simulate h200",
        given));
  const auto near = gpuexp::nearest_name(given, names);
  throw gpuexp::ConfigError(fmt::format("unknown subcommand '{}'; {}allowed: {}", given,
                                        near ? fmt::format("did you mean '{}'? ", *near) : "",
                                        fmt::join(names, ", ")));
}

/// Without the program. `help NAME` is NAME --help, and `help` is --help.
std::vector<std::string> parsed_arguments(int argc, char** argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments.front() == "help") {
    arguments.erase(arguments.begin());
    arguments.emplace_back("--help");
  }
  return arguments;
}

ExitCode run(int argc, char** argv) {
  gpuexp::Registry& registry = gpuexp::Registry::global();
  for (const std::string& error : registry.errors())
    fmt::print(stderr, "gpuexp: defect: {}\n", error);
  if (!registry.errors().empty()) return ExitCode::internal;

  std::size_t count = 0;
  const gpuexp::KernelResource* table = gpuexp::kernel_resource_table(count);
  // Results contain the command line and may be published, so the program's path is left out.
  std::vector<std::string> command(argv, argv + argc);
  if (!command.empty()) command.front() = "gpuexp";
  gpuexp::own::OwnFiles kernel_files(registry, gpuexp::cli::kernel_compiler());
  registry.set_kernel_files(kernel_files.callbacks());
  gpuexp::provide_own_kernels();
  Context context{
      registry, kernel_files, gpuexp::KernelResources(table, count), std::move(command), {}};
  CLI::App app("Explores GPU performance: why is this kernel fast, and that one slow?", "gpuexp");
  app.set_version_flag("--version", std::string(gpuexp::build_info::version));
  app.failure_message([](const CLI::App* root, const CLI::Error& error) {
    return gpuexp::cli::usage_message(*root, error);
  });
  add_subcommands(app, context);
  std::vector<std::string> arguments = parsed_arguments(argc, argv);
  if (!arguments.empty() && !arguments.front().starts_with('-'))
    check_subcommand(app, arguments.front());
  std::ranges::reverse(arguments);  // CLI11 takes them from the end
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? ExitCode::ok : ExitCode::usage;
  }
  return context.action();
}

// Flushes standard output; a full disk or a closed pipe is detected here.
ExitCode flushed(ExitCode code) {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  fmt::print(stderr, "gpuexp: standard output: cannot write: {}\n", std::strerror(errno));
  return ExitCode::internal;
}

// The simulator allocates registers for thousands of blocks. Without these settings, free() returns
// their memory to the system, and each block faults its pages in again.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kBytes = 1 << 30;
  constexpr int kMaxMmapThreshold = 1 << 25;  // glibc rejects larger values
  mallopt(M_TRIM_THRESHOLD, kBytes);
  mallopt(M_MMAP_THRESHOLD, kMaxMmapThreshold);  // the line above stops its automatic growth
#endif
}

// Occupies closed standard descriptors, so that no socket of a child process gets their number.
// Writing to standard output then fails as if it were closed.
void open_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == 0 || errno != EBADF) continue;
    if (::open("/dev/null", O_RDONLY) != descriptor) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  // A write beyond the file size limit (ulimit -f) then fails with an error, as on a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  // If stdout and stderr go to one file, line buffering keeps their lines whole and in order.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  keep_freed_memory();
  try {
    return static_cast<int>(flushed(run(argc, argv)));
  } catch (const gpuexp::ConfigError& e) {
    fmt::print(stderr, "gpuexp: {}\n", e.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const gpuexp::InputError& e) {
    fmt::print(stderr, "gpuexp: {}\n", e.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const gpuexp::ToolError& e) {
    if (gpuexp::cli::interrupted()) return static_cast<int>(ExitCode::interrupted);
    fmt::print(stderr, "gpuexp: {}\n", e.what());
    return static_cast<int>(ExitCode::usage);
  } catch (const std::filesystem::filesystem_error& e) {
    fmt::print(stderr, "gpuexp: {}: cannot be used: {}\n",
               e.path1().empty() ? "the current folder" : e.path1().string(), e.code().message());
    return static_cast<int>(ExitCode::internal);
  } catch (const gpuexp::ReportError& e) {  // names the file or the stream
    fmt::print(stderr, "gpuexp: {}\n", e.what());
    return static_cast<int>(ExitCode::internal);
  } catch (const std::exception& e) {
    fmt::print(stderr, "gpuexp: {}{}\n", std::ferror(stdout) != 0 ? "standard output: " : "",
               e.what());
    return static_cast<int>(ExitCode::internal);
  }
}
