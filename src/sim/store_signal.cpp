#include "sim/store_signal.hpp"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gpuexp::sim {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "a futex has 32 bits");

void StoreSignal::raise() {
  count_.fetch_add(1);
  if (sleepers_.load() > 0)
    syscall(SYS_futex, &count_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

bool StoreSignal::wait(std::uint32_t seen) {
  const timespec timeout{0, 1'000'000};
  ++sleepers_;
  syscall(SYS_futex, &count_, FUTEX_WAIT_PRIVATE, seen, &timeout, nullptr, 0);
  --sleepers_;
  return count() != seen;
}

}  // namespace gpuexp::sim
