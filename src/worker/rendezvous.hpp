#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/channel.hpp"
#include "worker/job.hpp"

namespace gpuexp {

/// Rank 0's side of the connections to the other ranks. Without a secret in the options, rank 0
/// writes its address and a random 128-bit secret to a file while it listens. Only this user can
/// read the file and enter its folder.
class Rendezvous {
 public:
  /// Throws ConfigError if rank 0 cannot listen on the address, if the secret is malformed, or if
  /// other users can enter the folder.
  explicit Rendezvous(const JobOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The next connection that has sent the secret; empty if none has within `timeout_s`. Closes
  /// connections that send other text, or no complete secret within 5 s.
  std::optional<Channel> accept(double timeout_s);

  /// Number of connections that sent other text than the secret, or ended before they sent it.
  int turned_away() const { return turned_away_; }

 private:
  struct Guest {
    Channel channel;
    std::string said;
    double until_s;
  };

  void accept_guest();
  bool hear(Guest& guest);

  std::string secret_;
  Channel listener_;
  std::filesystem::path file_;  ///< file with address and secret; empty if there is none
  std::vector<Guest> guests_;
  int turned_away_ = 0;
};

/// Connects another rank to rank 0. Empty, with the reason in `why`, if rank 0 does not listen
/// (yet). Throws ConfigError like Rendezvous.
std::optional<Channel> connect_to_first(const JobOptions& options, std::string& why);

}  // namespace gpuexp
