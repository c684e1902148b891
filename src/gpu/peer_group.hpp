// The GPUs of one problem: memory that all of them reach, and a barrier between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "family/ranks.hpp"
#include "gpu/resources.hpp"
#include "run/rank_exchange.hpp"

namespace gpuexp {

struct BarrierSignals;
struct BarrierReport;

/// By what ranks import each other's memory (CUDA Driver API, CUmemAllocationHandleType).
enum class PeerHandles {
  descriptors,  ///< POSIX file descriptors: they travel between processes of one host
  fabric,       ///< bytes that any process of an NVLink domain may import; needs an IMEX channel
};

/// Memory of equal size on every rank, mapped into this process: its own and that of the others
/// (CUDA Driver API, virtual memory management). Memory of cudaMallocAsync, which the rest of the
/// program uses, cannot be shared by CUDA IPC.
class PeerMemory {
 public:
  /// All ranks ask for the same. Throws DeviceError.
  PeerMemory(std::int64_t bytes, int device, PeerHandles handles, RankExchange& ranks);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// Where this process finds the memory of a rank; 2 MiB aligned.
  unsigned char* of(int rank) const { return mapped_[static_cast<std::size_t>(rank)]; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void unmap();

  std::int64_t bytes_ = 0;  ///< rounded up
  std::vector<unsigned char*> mapped_;
};

/// One rank's part in the group.
class PeerGroup {
 public:
  /// Waits for the others. Throws DeviceError.
  PeerGroup(const RankPlace& place, int device);
  ~PeerGroup();
  PeerGroup(const PeerGroup&) = delete;
  PeerGroup& operator=(const PeerGroup&) = delete;

  /// The one that this process has joined; null before, and once it is gone.
  static PeerGroup* current();

  int rank() const { return exchange_.place().rank; }
  int ranks() const { return exchange_.place().ranks; }
  RankExchange& exchange() { return exchange_; }

  /// Memory that all ranks ask for in one order. What nobody uses any more is used again: the
  /// driver clears memory that goes back to it while other things run.
  std::shared_ptr<PeerMemory> memory(std::int64_t bytes);
  /// Gives what nobody uses back to the driver where it and so many bytes are more than half of the
  /// GPU's memory. All ranks decide alike.
  void make_room(std::int64_t bytes);
  /// Called when a problem's memory is no longer its own: who knows it by its address forgets it.
  void before_release(std::function<void()> forget) { forget_ = std::move(forget); }
  void released() const {
    if (forget_) forget_();
  }

  /// Reads how far the ranks' clocks are apart. They drift by some microseconds a second: this
  /// comes before each stretch of samples. On an idle stream, by all ranks.
  void calibrate();

  /// What this stream is given from here on begins when all ranks' streams have come this far. One
  /// that waits longer than kPatienceS for another ends the context; explain() then says for whom.
  void queue_barrier(const CudaStream& stream);

  /// Throws DeviceError that names the rank for which a barrier or a launch waited in vain, where
  /// one did.
  void explain() const;
  /// Where kernels of launches say so.
  WaitReport* launch_report() const;

  /// When the last barrier that has run let this rank go on, in nanoseconds of rank 0's
  /// globaltimer.
  std::int64_t released_ns() const;

  static constexpr double kPatienceS = 20;

 private:
  RankExchange exchange_;
  int device_;
  PeerHandles handles_;  ///< fabric where cuMemCreate grants that to every rank
  std::unique_ptr<PeerMemory> signals_memory_;
  Ranks<BarrierSignals> signals_{};
  BarrierReport* report_ = nullptr;  ///< in host memory that the GPU writes
  unsigned barriers_ = 0;            ///< queued so far
  CudaStream stream_;                ///< of what reads clocks
  DeviceMemory d_offset_;
  unsigned clock_rounds_ = 0;  ///< so far
  std::int64_t ahead_ns_ = 0;  ///< of this rank's globaltimer against rank 0's
  std::function<void()> forget_;
  std::multimap<std::int64_t, std::unique_ptr<PeerMemory>> free_;  ///< by bytes
};

}  // namespace gpuexp
