// Work on several host threads.
#pragma once

#include <cstdint>
#include <functional>

namespace gpuexp {

/// Number of threads that the host runs concurrently; 1 if unknown.
unsigned host_threads();

/// Calls work() on `threads` threads, including the calling thread, and waits for all of them.
/// Rethrows the first exception.
void on_threads(unsigned threads, const std::function<void()>& work);

/// Splits [0, count) into parts of at most `max_items` items, and calls part(first, end) for each
/// part, on at most `threads` threads.
void for_parts(unsigned threads, std::int64_t count, std::int64_t max_items,
               const std::function<void(std::int64_t first, std::int64_t end)>& part);

}  // namespace gpuexp
