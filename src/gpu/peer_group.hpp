// The GPUs of one problem: memory that all of the GPUs can access, and a barrier between the GPUs.
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

/// Type of the handle with which a rank imports another rank's memory (CUDA Driver API,
/// CUmemAllocationHandleType).
enum class PeerHandles {
  descriptors,  ///< POSIX file descriptors, for processes of one host
  fabric,       ///< bytes, for any process of an NVLink domain; requires an IMEX channel
};

/// Memory of equal size on every rank; the memory of all ranks is mapped into this process (CUDA
/// Driver API, virtual memory management). CUDA IPC cannot share the memory of cudaMallocAsync,
/// which the rest of the program uses.
class PeerMemory {
 public:
  /// All ranks must request the same size. Throws DeviceError.
  PeerMemory(std::int64_t bytes, int device, PeerHandles handles, RankExchange& ranks);
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// Address of a rank's memory in this process; aligned to 2 MiB.
  unsigned char* of(int rank) const { return mapped_[static_cast<std::size_t>(rank)]; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void unmap();

  std::int64_t bytes_ = 0;  ///< rounded up to the allocation granularity
  std::vector<unsigned char*> mapped_;
};

class PeerGroup {
 public:
  /// Waits for the other ranks. Throws DeviceError.
  PeerGroup(const RankPlace& place, int device);
  ~PeerGroup();
  PeerGroup(const PeerGroup&) = delete;
  PeerGroup& operator=(const PeerGroup&) = delete;

  /// The group that this process has joined; null if none.
  static PeerGroup* current();

  int rank() const { return exchange_.place().rank; }
  int ranks() const { return exchange_.place().ranks; }
  RankExchange& exchange() { return exchange_; }

  /// Memory shared by all ranks, which must call in the same order. Unused memory is reused,
  /// because the driver clears returned memory while other work runs.
  std::shared_ptr<PeerMemory> memory(std::int64_t bytes);
  /// Returns unused memory to the driver if unused memory and `bytes` together exceed half of the
  /// GPU's memory. All ranks decide equally.
  void make_room(std::int64_t bytes);
  /// Sets a function that is called when a problem's memory is released, to forget addresses in
  /// that memory.
  void before_release(std::function<void()> forget) { forget_ = std::move(forget); }
  void released() const {
    if (forget_) forget_();
  }

  /// Measures the offsets between the ranks' clocks, which drift by some microseconds per second:
  /// call it before each series of samples. All ranks must call it, with idle streams.
  void calibrate();

  /// Later work on this stream starts when the streams of all ranks have reached this barrier. If a
  /// rank does not arrive within kPatienceS, the context ends, and explain() names the rank.
  void queue_barrier(const CudaStream& stream);

  /// Throws DeviceError that names the missing rank if a barrier or launch timed out.
  void explain() const;
  WaitReport* launch_report() const;

  /// Time at which the last completed barrier released this rank, in nanoseconds of rank 0's clock.
  std::int64_t released_ns() const;

  static constexpr double kPatienceS = 20;

 private:
  RankExchange exchange_;
  int device_;
  PeerHandles handles_;  ///< fabric if cuMemCreate permits it on every rank
  std::unique_ptr<PeerMemory> signals_memory_;
  Ranks<BarrierSignals> signals_{};
  BarrierReport* report_ = nullptr;  ///< in mapped host memory
  unsigned barriers_ = 0;            ///< number of barriers enqueued so far
  CudaStream stream_;                ///< for clock readings
  DeviceMemory d_offset_;
  unsigned clock_rounds_ = 0;  ///< number of clock readings so far
  std::int64_t ahead_ns_ = 0;  ///< lead of this rank's globaltimer over rank 0's
  std::function<void()> forget_;
  std::multimap<std::int64_t, std::unique_ptr<PeerMemory>> free_;  ///< by bytes
};

}  // namespace gpuexp
