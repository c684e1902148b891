#include "cli/interrupts.hpp"

#include <csignal>
#include <ctime>

#include <unistd.h>

namespace gpuexp::cli {

namespace {

volatile std::sig_atomic_t g_interrupted = 0;
volatile std::time_t g_interrupted_at = 0;
pid_t g_parent = 0;

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

void end_with_parent() {
  g_parent = ::getppid();
}

bool interrupted() {
  // Not by prctl(PR_SET_PDEATHSIG), which the end of the parent's thread sets off, too.
  if (g_parent != 0 && ::getppid() != g_parent) g_interrupted = 1;
  return g_interrupted != 0;
}

}  // namespace gpuexp::cli
