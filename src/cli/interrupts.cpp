#include "cli/interrupts.hpp"

#include <csignal>
#include <ctime>

namespace gpuexp::cli {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;
volatile std::time_t g_interrupted_at = 0;

void interrupt(int signal) {
  constexpr std::time_t kPatienceS = 2;
  const std::time_t now = std::time(nullptr);
  if (!g_interrupted) {
    g_interrupted = 1;
    g_interrupted_at = now;
  } else if (now - g_interrupted_at >= kPatienceS) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_interrupts() {
  std::signal(SIGINT, interrupt);
  std::signal(SIGTERM, interrupt);
}

bool interrupted() {
  return g_interrupted != 0;
}

}  // namespace gpuexp::cli
