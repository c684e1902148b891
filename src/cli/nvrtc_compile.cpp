// Hidden: compiles one file with NVRTC, which is a library, within the limits of a child process.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/app.hpp"
#include "compile/nvrtc.hpp"
#include "compile/nvrtc_compiler.hpp"

namespace gpuexp::cli {

namespace {

// Library, source, cubin, then NVRTC's options.
ExitCode run(const std::vector<std::string>& arguments) {
  constexpr std::size_t kPaths = 3;
  if (arguments.size() < kPaths)
    throw ConfigError(fmt::format("{}: only gpuexp itself starts this command", kNvrtcCommand));
  const std::string errors = run_nvrtc(arguments[0], arguments[1], arguments[2],
                                       {arguments.begin() + kPaths, arguments.end()});
  if (errors.empty()) return ExitCode::ok;
  fmt::print(stderr, "{}", errors);
  return ExitCode::usage;
}

}  // namespace

void add_nvrtc_compile(Command& app, Context& context) {
  Command* command = app.add_subcommand(kNvrtcCommand, "compiles a file with NVRTC");
  command->group("");
  command->prefix_command();  // NVRTC's options are not this program's
  on_chosen(*command, context, [command] { return run(command->remaining()); });
}

}  // namespace gpuexp::cli
