// Work on several threads of the host.
#pragma once

#include <cstdint>
#include <functional>

namespace gpuexp {

/// That the host runs at one time; 1 where nobody knows.
unsigned host_threads();

/// Calls work() on so many threads, this one among them, and waits for all of them. Throws what one
/// of them threw.
void on_threads(unsigned threads, const std::function<void()>& work);

/// Calls part(first, end) for parts of [0, count) of at most `most` items, on several threads.
void for_parts(unsigned threads, std::int64_t count, std::int64_t most,
               const std::function<void(std::int64_t first, std::int64_t end)>& part);

}  // namespace gpuexp
