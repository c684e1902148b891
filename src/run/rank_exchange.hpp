// What the processes of one problem's ranks tell each other and hand each other on the host. Data
// between GPUs do not come this way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpuexp {

/// The place of one process among those that share a problem, each of which owns a GPU.
struct RankPlace {
  int rank = 0;
  int ranks = 1;
  /// Where they meet: a name that nobody guesses, the same for all of them.
  std::string meeting;
};

/// A file descriptor that is closed with its owner; -1: none.
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

/// Rank 0 listens on a Unix socket of the meeting's name, in Linux's abstract namespace, and lets
/// in processes of the same user; the others connect. Every call is made by all ranks in one order.
class RankExchange {
 public:
  /// Waits for all ranks. Throws DeviceError that names the first which has not come in time.
  explicit RankExchange(const RankPlace& place, double patience_s = kPatienceS);

  /// What one rank told and handed over.
  struct Told {
    std::string text;
    OwnedDescriptor descriptor;
  };
  /// Of every rank, by rank, once all have told theirs. The text is at most kLongest bytes, of any
  /// value; the descriptor stays the caller's. Throws DeviceError that names a rank which is gone,
  /// or has told nothing in time.
  std::vector<Told> all_gather(const std::string& text, int descriptor = -1);

  /// What rank 0 has.
  std::int64_t from_first(std::int64_t value);
  /// Whether some rank says so.
  bool is_any(bool value);

  const RankPlace& place() const { return place_; }

  static constexpr std::size_t kLongest = 4096;
  static constexpr double kPatienceS = 20;

 private:
  void send(int rank, const Told& told, int descriptor) const;
  Told receive(int rank) const;
  int socket_to(int rank) const;

  RankPlace place_;
  double patience_s_;
  std::vector<OwnedDescriptor> sockets_;  ///< of rank 0, to each rank; of the others, to rank 0
};

/// A name for a meeting, of 128 random bits.
std::string random_meeting();

}  // namespace gpuexp
