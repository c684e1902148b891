// Page-locked host memory that the processes of several ranks have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "run/rank_exchange.hpp"

namespace gpuexp {

/// Memory of equal size of every rank, mapped into this process and page-locked for its GPU: its
/// own and that of the others. It is shared as file descriptors (memfd_create).
class SharedHostMemory {
 public:
  /// By all ranks in one order. Throws DeviceError.
  SharedHostMemory(std::int64_t bytes, RankExchange& ranks);
  ~SharedHostMemory();
  SharedHostMemory(const SharedHostMemory&) = delete;
  SharedHostMemory& operator=(const SharedHostMemory&) = delete;

  /// Of the memory's first byte, in every process: no less than buffers ask for.
  static constexpr std::size_t kAlignment = std::size_t{2} << 20;

  /// Where this process, and its GPU, find the memory of a rank.
  unsigned char* of(int rank) const { return mapped_[static_cast<std::size_t>(rank)]; }

 private:
  void unmap();

  std::size_t bytes_;  ///< whole pages
  std::vector<unsigned char*> mapped_;
};

}  // namespace gpuexp
