#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "base/file_watch.hpp"
#include "base/json.hpp"
#include "base/output.hpp"
#include "base/steady_clock.hpp"
#include "cli/app.hpp"
#include "cli/cancellable_copy.hpp"
#include "cli/simulation.hpp"
#include "cli/watched_version.hpp"
#include "compile/included_files.hpp"
#include "compile/nvrtc.hpp"
#include "compile/nvrtc_server.hpp"
#include "compile/toolkit_tools.hpp"
#include "gpu/device_query.hpp"
#include "render/terminal_options.hpp"

namespace gpuexp::cli {

namespace {

struct WatchArguments {
  ConfigOptions config;
  std::string gpu;
  double launch_timeout_s = 30;
};

/// The GPU of --gpu, else the first one of this machine if it is listed, else the default.
DeviceSpec watched_gpu(const std::string& given) {
  const auto specs = device_specs();
  std::string name = given;
  if (name.empty() && !no_device_reason()) name = query_device(0, specs).spec_id;
  return find_device_spec(specs, name.empty() ? kDefaultGpu : name).spec;
}

std::string clock_time() {
  constexpr std::size_t kBytes = 16;
  std::array<char, kBytes> text{};
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  std::strftime(text.data(), text.size(), "%H:%M:%S", ::localtime_r(&now, &local));
  return text.data();
}

std::string stages_text(const WatchedVersion& made) {
  std::vector<std::string> stages;
  for (const auto& [stage, seconds] : made.stages_s)
    stages.push_back(fmt::format("{} {:.2f} s", stage, seconds));
  return fmt::format("{}", fmt::join(stages, ", "));
}

/// What is on the screen: the last version without an error, next to the one before, and the error
/// of a later version.
class WatchScreen {
 public:
  WatchScreen(std::string file, std::string gpu) : file_(std::move(file)), gpu_(std::move(gpu)) {}

  void show_work(const char* what) const {
    if (is_terminal_) write(fmt::format("{}: {} …\r", file_, what));
  }

  void show(WatchedVersion made, double seconds) {
    if (!made.error.empty()) return show_error(made.error);
    before_ = std::exchange(now_, std::move(made));
    ++versions_;
    heading_ = fmt::format("{}, version {}, {}: {}; simulated and predicted, not measured", file_,
                           versions_, clock_time(), gpu_);
    footing_ = fmt::format("{:.2f} s after the save: {}", seconds, stages_text(*now_));
    if (now_->is_by_nvrtc)
      footing_ += "\ncompiled by NVRTC with a precompiled header; machine code of nvcc may differ";
    draw("");
  }

  void show_error(const std::string& error) {
    const std::string heading = fmt::format("{}, {}: error", file_, clock_time());
    draw(fmt::format("{}\n{}\n", terminal_.styled(terminal_.text(heading), Style::wrong),
                     terminal_.text(error)));
  }

 private:
  // Machine code of two compilers differs without a change of the file.
  const KernelVersion* comparable() const {
    return before_ && before_->is_by_nvrtc == now_->is_by_nvrtc ? &before_->version : nullptr;
  }

  // A terminal is cleared, and shows the table below the error; other output is appended.
  void draw(const std::string& error) const {
    constexpr const char* kClear = "\033[H\033[2J";
    std::string text = is_terminal_ ? kClear : "";
    text += error;
    if (now_ && (error.empty() || is_terminal_)) {
      if (!error.empty()) text += "\n";
      text += terminal_.styled(terminal_.text(heading_), Style::bold) + "\n" +
              version_table_text(now_->version, comparable(), terminal_) +
              terminal_.text(footing_) + "\n";
    }
    write(text + (is_terminal_ ? "" : "\n"));
  }

  static void write(const std::string& text) {
    Output output(stdout, "standard output");
    output.write(text);
    output.flush();
  }

  std::string file_;
  std::string gpu_;
  TerminalOptions terminal_ = terminal_options(stdout);
  bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  std::optional<WatchedVersion> now_;
  std::optional<WatchedVersion> before_;
  int versions_ = 0;
  std::string heading_;
  std::string footing_;
};

class Watch {
 public:
  Watch(const Context& context, const WatchArguments& options)
      : context_(context),
        options_(options),
        file_(file_of(options)),
        device_(watched_gpu(options.gpu)),
        screen_(file_.filename().string(), device_.name) {
    compile_first_for(context, device_.id);
    start_nvrtc();
    ::setenv("TMPDIR", temporary_.path().c_str(), 1);
  }

  ExitCode run() {
    catch_interrupts();
    files_.watch({file_});
    double saved_s = steady_seconds();
    while (!interrupted()) {
      files_.accept();
      screen_.show_work("compile, verify, predict");
      if (std::optional<WatchedVersion> made = version()) {
        keep_watching(*made);
        screen_.show(std::move(*made), steady_seconds() - saved_s);
      }
      files_.wait(-1, interrupted);
      saved_s = steady_seconds();
      files_.wait_until_quiet(interrupted);
    }
    return ExitCode::interrupted;
  }

 private:
  static std::filesystem::path file_of(const WatchArguments& options) {
    const std::vector<std::string>& files = options.config.configs;
    if (files.size() != 1 || !is_kernel_file(files.front()))
      throw ConfigError(
          fmt::format("watch {}: expected one kernel file, such as my.cu", fmt::join(files, " ")));
    if (is_missing(files.front()))
      throw ConfigError(fmt::format("{}: there is no such file", files.front()));
    return files.front();
  }

  // Without NVRTC, nvcc compiles all files.
  void start_nvrtc() {
    const auto library = find_nvrtc();
    if (!library) return;
    try {
      context_.kernel_files.use_nvrtc_server(*library, std::make_shared<NvrtcServer>(*library));
    } catch (const std::runtime_error&) {
    }
  }

  /// Empty if a file changed, or the command was interrupted, before the version was complete.
  std::optional<WatchedVersion> version() {
    if (is_missing(file_.string())) {
      WatchedVersion deleted;
      deleted.error = fmt::format("{}: there is no such file; waiting for it", file_.string());
      return deleted;
    }
    CancellableCopy copy([this]() -> std::optional<std::string> {
      const auto made =
          watched_version(context_, options_.config, device_, options_.launch_timeout_s);
      return made ? std::optional(line_of(*made)) : std::nullopt;
    });
    if (files_.wait(copy.descriptor(), interrupted) || interrupted()) return std::nullopt;
    try {
      return watched_version_from(copy.result());
    } catch (const std::runtime_error& error) {
      if (interrupted()) return std::nullopt;
      WatchedVersion failed;
      failed.error = error.what();
      return failed;
    }
  }

  // After an error, the files of the last version may have been read, and those that the text
  // names.
  void keep_watching(const WatchedVersion& made) {
    if (made.error.empty()) known_.clear();
    known_.insert(made.files.begin(), made.files.end());
    std::set<std::filesystem::path> files(known_.begin(), known_.end());
    files.insert(file_);
    for (const std::filesystem::path& included : included_files(file_, {}))
      files.insert(included);
    files_.watch({files.begin(), files.end()});
  }

  const Context& context_;
  const WatchArguments& options_;
  TemporaryFolder temporary_;  ///< for temporary files of copies, which may be killed
  std::filesystem::path file_;
  DeviceSpec device_;
  WatchScreen screen_;
  FileWatch files_;
  std::set<std::string> known_;  ///< files that were read since the last version without an error
};

}  // namespace

void add_watch(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "watch",
      "after each save of a kernel file: verify it, and show counters and predicted times next to "
      "those before");
  auto options = std::make_shared<WatchArguments>();
  options->config.add_to(*command);
  command->get_option("config")->description("one kernel file, such as my.cu")->expected(1);
  command->add_option("--gpu", options->gpu,
                      fmt::format("GPU to simulate (gpuexp list; default: the first GPU of this "
                                  "machine, else {})",
                                  kDefaultGpu));
  add_launch_timeout(*command, options->launch_timeout_s, "the variant's status is timeout");
  command->footer(
      "Results are verified at sizes that the CPU executes in a fraction of a second; counters and "
      "times are\n"
      "those of the declared sizes. Ctrl-C ends the command with exit code 130.\n"
      "example: gpuexp watch my.cu --gpu rtx_4090 --filter '*/tile*'");
  on_chosen(*command, context, [&context, options] { return Watch(context, *options).run(); });
}

}  // namespace gpuexp::cli
