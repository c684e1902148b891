// Messages and file descriptors that the processes of a problem's ranks exchange on the host. Data
// between GPUs does not use this path.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpuexp {

/// The rank of one process among those that share a problem; each process owns a GPU.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  /// Name of the socket: random, the same for all ranks.
  std::string meeting;
};

/// A file descriptor, closed by the destructor; -1 means none.
class OwnedDescriptor {
 public:
  explicit OwnedDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~OwnedDescriptor();
  OwnedDescriptor(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor& operator=(OwnedDescriptor&& other) noexcept;
  OwnedDescriptor(const OwnedDescriptor&) = delete;
  OwnedDescriptor& operator=(const OwnedDescriptor&) = delete;
  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Rank 0 listens on a Unix socket named after the meeting, in Linux's abstract namespace, and
/// accepts processes of the same user; the other ranks connect to it. All ranks must make the same
/// calls in the same order.
class RankExchange {
 public:
  /// Rank 0 waits for all ranks, the other ranks wait for rank 0. Throws DeviceError that names a
  /// rank that did not connect in time.
  explicit RankExchange(const RankPlace& place, double patience_s = kPatienceS);

  struct RankMessage {
    std::string text;
    OwnedDescriptor descriptor;
  };
  /// Sends this rank's message and returns the messages of all ranks, by rank. `text` may contain
  /// any bytes, at most kLongest of them; the caller still owns the descriptor. Throws DeviceError
  /// that names a rank that has ended or sent nothing in time.
  std::vector<RankMessage> all_gather(const std::string& text, int descriptor = -1);

  std::int64_t from_first(std::int64_t value);
  bool is_any(bool value);

  const RankPlace& place() const { return place_; }

  static constexpr std::size_t kLongest = 4096;
  static constexpr double kPatienceS = 20;

 private:
  void send(int rank, const RankMessage& told, int descriptor) const;
  RankMessage receive(int rank) const;
  int socket_to(int rank) const;

  RankPlace place_;
  double patience_s_;
  std::vector<OwnedDescriptor> sockets_;  ///< on rank 0, one per rank; else one, to rank 0
};

std::string random_meeting();

}  // namespace gpuexp
