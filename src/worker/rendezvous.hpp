// How the processes of a job find rank 0: over TCP, by a secret that they share.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "worker/channel.hpp"
#include "worker/job.hpp"

namespace gpuexp {

/// Rank 0's side. Unless the options have a secret, its address and a new secret of 128 random bits
/// stand in a file that nobody else may read, in a folder that nobody else may enter, as long as it
/// listens.
class Rendezvous {
 public:
  /// Throws ConfigError for an address that cannot be listened on, a secret of another form, and a
  /// folder that others can enter.
  explicit Rendezvous(const JobOptions& options);
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;

  /// The next connection that began with the secret; empty when none did within `timeout_s`. Others
  /// are closed: nothing else is read of them, and each has some seconds for it.
  std::optional<Channel> accept(double timeout_s);

  /// Connections that began with something else.
  int turned_away() const { return turned_away_; }

 private:
  /// A connection that has not shown the secret yet.
  struct Guest {
    Channel channel;
    std::string said;
    double until_s;
  };

  void let_in();
  bool hear(Guest& guest);

  std::string secret_;
  Channel listener_;
  std::filesystem::path file_;  ///< empty where there is none
  std::vector<Guest> guests_;
  int turned_away_ = 0;
};

/// The other ranks' side: connects and shows the secret. Empty, with the reason in `why`, where
/// rank 0 does not listen (yet). Throws ConfigError as above.
std::optional<Channel> connect_to_first(const JobOptions& options, std::string& why);

}  // namespace gpuexp
