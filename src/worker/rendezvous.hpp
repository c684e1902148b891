// How the processes of a job connect to rank 0: over TCP, authenticated by a shared secret.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/channel.hpp"
#include "worker/job.hpp"

namespace gpuexp {

/// Rank 0's side. If the options have no secret, rank 0 writes its address and a random one of 128
/// bits to a file while it listens. Only this user can read the file and enter its folder.
class Rendezvous {
 public:
  /// Throws ConfigError for an address on which it cannot listen, a malformed secret, and a folder
  /// that other users can enter.
  explicit Rendezvous(const JobOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The next connection that sent the secret first; empty if none did within `timeout_s`.
  /// Connections that send something else, or nothing for some seconds, are closed and not read
  /// further.
  std::optional<Channel> accept(double timeout_s);

  /// Number of connections that sent something other than the secret.
  int turned_away() const { return turned_away_; }

 private:
  /// A connection that has not sent the complete secret yet.
  struct Guest {
    Channel channel;
    std::string said;
    double until_s;
  };

  void accept_guest();
  bool hear(Guest& guest);

  std::string secret_;
  Channel listener_;
  std::filesystem::path file_;  ///< empty if there is none
  std::vector<Guest> guests_;
  int turned_away_ = 0;
};

/// The other ranks' side. Empty, with the reason in `why`, if rank 0 does not listen (yet). Throws
/// ConfigError like Rendezvous.
std::optional<Channel> connect_to_first(const JobOptions& options, std::string& why);

}  // namespace gpuexp
