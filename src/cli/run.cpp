#include <chrono>
#include <csignal>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/progress.hpp"
#include "core/columns.hpp"
#include "core/runner.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "report/csv.hpp"
#include "report/json.hpp"
#include "report/terminal.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

volatile std::sig_atomic_t g_interrupted = 0;

// The first signal ends the run after the launch in flight; the second one ends the process, in
// case that launch never returns.
void interrupt(int signal) {
  g_interrupted = 1;
  std::signal(signal, SIG_DFL);
}

struct Options {
  ConfigOptions config;
  std::string out;
  std::string csv;
  std::string json;
  int device = 0;
  bool profile = false;
  bool quiet = false;
};

std::string utc_now(const char* format) {
  return fmt::format(fmt::runtime(fmt::format("{{:{}}}", format)), fmt::gmtime(std::time(nullptr)));
}

}  // namespace
}  // namespace gpuexp::cli
