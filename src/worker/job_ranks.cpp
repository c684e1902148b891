#include "worker/job_ranks.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include "base/config_error.hpp"
#include "base/json.hpp"
#include "base/steady_clock.hpp"
#include "base/text.hpp"
#include "device/device_error.hpp"
#include "worker/rendezvous.hpp"

namespace gpuexp {

namespace {

class AgentWorker final : public WorkerProcess {
 public:
  AgentWorker(AgentLink& link, const std::vector<std::string>& arguments) : link_(link) {
    link_.send(Json{{"start", arguments}}.dump());
  }
  AgentWorker(const AgentWorker&) = delete;
  AgentWorker& operator=(const AgentWorker&) = delete;
  ~AgentWorker() override {
    try {
      end();
    } catch (const std::exception&) {
    }
  }

  void send(std::string_view line) override {
    if (ending_) throw ChannelClosed("the worker has ended");
    link_.send(kOfWorker + std::string(line));
  }

  std::optional<std::string> receive(double timeout_s,
                                     const std::function<bool()>& give_up) override {
    if (ending_) throw ChannelClosed("the worker has ended");
    auto line = link_.receive(timeout_s, give_up);
    if (!line) return std::nullopt;
    if (!line->empty() && line->front() == kOfWorker) return line->substr(1);
    keep_ending(*line);
    throw ChannelClosed("the worker has ended");
  }

  Ending end() override {
    if (ending_returned_) return {"it had already ended", false};
    ending_returned_ = true;
    if (!ending_) link_.send(R"({"end": true})");
    // The worker's earlier lines arrive before the line that reports its end.
    constexpr double kPatienceS = 5;
    const double end_s = steady_seconds() + kPatienceS;
    while (!ending_) {
      const auto line = link_.receive(end_s - steady_seconds(), [] { return false; });
      if (!line) link_.give_up(kPatienceS);
      if (line->empty() || line->front() != kOfWorker) keep_ending(*line);
    }
    return *ending_;
  }

 private:
  void keep_ending(const std::string& line) {
    const Json json = Json::parse(line);
    ending_ = Ending{json.at("ended").get<std::string>(), json.at("killed").get<bool>()};
  }

  AgentLink& link_;
  std::optional<Ending> ending_;
  bool ending_returned_ = false;
};

}  // namespace

AgentLink::~AgentLink() {
  try {
    send(R"({"dismissed": true})");
  } catch (const JobLost&) {
  }
}

void AgentLink::lose(const std::string& how) const {
  throw JobLost(fmt::format("rank {} is lost: the connection to its agent: {}", rank_, how));
}

void AgentLink::give_up(double after_s) {
  is_silent_ = true;
  lose(fmt::format("no answer for {:g} s", after_s));
}

void AgentLink::send(std::string_view line) {
  if (is_silent_) lose("no answer");
  try {
    channel_.send(line);
  } catch (const ChannelClosed& error) {
    lose(error.what());
  }
}

std::optional<std::string> AgentLink::receive(double timeout_s,
                                              const std::function<bool()>& give_up) {
  if (is_silent_) lose("no answer");
  try {
    return channel_.receive(timeout_s, give_up);
  } catch (const ChannelClosed& error) {
    lose(error.what());
  }
}

void AgentLink::check() const {
  if (is_silent_) lose("no answer");
  pollfd wanted{channel_.descriptor(), POLLRDHUP, 0};
  if (::poll(&wanted, 1, 0) > 0 && (wanted.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0)
    lose("closed by the other end");
}

JobRanks::JobRanks(const JobOptions& options)
    : members_(static_cast<std::size_t>(options.place.ranks)) {
  members_.front().hello = hello_of(options);
  Rendezvous rendezvous(options);
  const double end_s = steady_seconds() + options.patience_s;
  constexpr double kSliceS = 0.1;  // interval for checking for an interrupt
  while (!missing().empty()) {
    const double left_s = end_s - steady_seconds();
    if (options.interrupted()) throw JobLost("interrupted while waiting for " + missing());
    if (left_s <= 0) {
      const int rejected = rendezvous.turned_away();
      throw JobLost(fmt::format(
          "{} of {} did not connect within {:g} s{}; --rank-timeout allows more time, and --ranks "
          "here waits for no other process",
          missing(), ranks(), options.patience_s,
          rejected > 0
              ? fmt::format(" ({} had a different secret)", counted(rejected, "connection"))
              : ""));
    }
    if (auto channel = rendezvous.accept(std::min(left_s, kSliceS)))
      admit(*std::move(channel), options);
    check();
  }
  if (!argument_mismatch_.empty()) {
    throw ConfigError(
        fmt::format("{}: all processes of a run need the same command line; --ranks here makes "
                    "each process a run of its own",
                    argument_mismatch_));
  }
}

void JobRanks::admit(Channel channel, const JobOptions& options) {
  constexpr double kPatienceS = 5;
  try {
    const auto line = channel.receive(kPatienceS, options.interrupted);
    if (!line) return;
    Hello hello = hello_from(*line);
    const bool is_known = hello.rank > 0 && hello.rank < ranks();
    if (!is_known || members_[static_cast<std::size_t>(hello.rank)].link) {
      const char* const why =
          is_known ? "another process already has this rank" : "there is no such rank in this job";
      channel.send(Json{{"refused", why}}.dump());
      return;
    }
    if (hello.arguments != options.arguments && argument_mismatch_.empty()) {
      argument_mismatch_ =
          fmt::format("rank {} was started with different arguments than rank 0: {}", hello.rank,
                      fmt::join(hello.arguments, " "));
    }
    channel.send(R"({"welcome": true})");
    Member& member = members_[static_cast<std::size_t>(hello.rank)];
    member.link = std::make_unique<AgentLink>(std::move(channel), hello.rank);
    member.hello = std::move(hello);
  } catch (const ChannelClosed&) {
  }
}

/// "ranks 2, 3": the ranks that have not connected; empty if all have.
std::string JobRanks::missing() const {
  std::vector<int> ranks;
  for (int rank = 1; rank < this->ranks(); ++rank) {
    if (!members_[static_cast<std::size_t>(rank)].link) ranks.push_back(rank);
  }
  if (ranks.empty()) return "";
  return fmt::format("{} {}", noun_for(ranks.size(), "rank"), fmt::join(ranks, ", "));
}

std::unique_ptr<WorkerProcess> JobRanks::start(int rank,
                                               const std::vector<std::string>& arguments) {
  const Member& member = members_[static_cast<std::size_t>(rank)];
  const Hello& first = members_.front().hello;
  if (member.hello.boot != first.boot) {
    throw DeviceError(
        fmt::format("is on host {}, and rank 0 is on {}: all ranks of a run must be on one host",
                    member.hello.host, first.host),
        DeviceFault::refused);
  }
  return std::make_unique<AgentWorker>(*member.link, arguments);
}

void JobRanks::check() const {
  for (const Member& member : members_) {
    if (member.link) member.link->check();
  }
}

void GpuOwners::take(int rank, const std::string& uuid) {
  const auto [owner, is_new] = ranks_.try_emplace(uuid, rank);
  if (is_new || owner->second == rank) return;
  throw DeviceError(fmt::format("its GPU, {}, is also used by rank {}: each rank needs its own GPU",
                                uuid, owner->second),
                    DeviceFault::refused);
}

}  // namespace gpuexp
