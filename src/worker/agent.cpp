#include "worker/agent.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json.hpp"
#include "base/steady_clock.hpp"
#include "worker/job.hpp"
#include "worker/rendezvous.hpp"

namespace gpuexp {

namespace {

class Outbox {
 public:
  void add(std::string_view line) {
    waiting_ += line;
    waiting_ += '\n';
  }
  void clear() { waiting_.clear(); }
  std::size_t size() const { return waiting_.size(); }
  /// Sends as many bytes as possible without blocking. False if the other end has closed.
  bool send(int socket) {
    const ssize_t sent =
        ::send(socket, waiting_.data(), waiting_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    waiting_.erase(0, static_cast<std::size_t>(sent));
    return true;
  }

 private:
  std::string waiting_;
};

/// Appends the available bytes to `lines`. False if the other end has closed.
bool receive_available(int socket, LineBuffer& lines) {
  std::array<char, 1 << 16> chunk{};
  const ssize_t count = ::recv(socket, chunk.data(), chunk.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  lines.append({chunk.data(), static_cast<std::size_t>(count)});
  return count > 0;
}

/// Forwards lines between rank 0 and a worker. Never blocks on one connection, because the other
/// may need service: a hung worker must be killed when rank 0 requests it or has ended.
class Agent {
 public:
  Agent(Channel channel, const StartWorker& start)
      : channel_(std::move(channel)), start_(start), from_first_(channel_.take_received()) {}

  /// Returns true when rank 0 dismisses this process, false when rank 0 ends.
  bool serve() {
    execute_orders();
    while (!dismissed_) {
      std::array<pollfd, 2> wanted{wanted_of_first(), wanted_of_worker()};
      ::poll(wanted.data(), wanted.size(), -1);
      if (wanted[1].revents != 0 && worker_) serve_worker();
      if (wanted[0].revents != 0 && !serve_first()) return dismissed_;
    }
    return true;
  }

 private:
  pollfd wanted_of_first() const {
    return {channel_.descriptor(),
            static_cast<short>(to_first_.size() > 0 ? POLLIN | POLLOUT : POLLIN), 0};
  }
  pollfd wanted_of_worker() const {
    // While rank 0 reads slowly, the worker must wait.
    constexpr std::size_t kMuch = 1 << 20;
    const int events =
        (to_first_.size() < kMuch ? POLLIN : 0) | (to_worker_.size() > 0 ? POLLOUT : 0);
    const bool is_asked = worker_ && events != 0;
    return {is_asked ? worker_->channel().descriptor() : -1, static_cast<short>(events), 0};
  }

  bool serve_first() {
    const bool is_there = receive_available(channel_.descriptor(), from_first_);
    execute_orders();
    return is_there && (to_first_.size() == 0 || to_first_.send(channel_.descriptor()));
  }

  void execute_orders() {
    while (const auto line = from_first_.next()) {
      if (line->empty()) continue;
      if (line->front() != kOfWorker) {
        execute_order(Json::parse(*line));
      } else if (worker_) {
        to_worker_.add(std::string_view(*line).substr(1));
      }
    }
  }

  void serve_worker() {
    const int socket = worker_->channel().descriptor();
    const bool is_there = receive_available(socket, from_worker_);
    while (const auto line = from_worker_.next())
      to_first_.add(kOfWorker + *line);
    // A worker that no longer reads may have sent the reason why.
    if (to_worker_.size() > 0 && !to_worker_.send(socket)) to_worker_.clear();
    if (!is_there) end_worker();
  }

  void execute_order(const Json& order) {
    if (order.contains("start")) start_worker(order.at("start").get<std::vector<std::string>>());
    // A worker that ended by itself was reported when it ended.
    if (order.contains("end") && worker_) end_worker();
    dismissed_ = dismissed_ || order.contains("dismissed");
  }

  void start_worker(const std::vector<std::string>& arguments) {
    from_worker_ = {};
    to_worker_.clear();
    try {
      worker_ = start_(arguments);
    } catch (const std::system_error& error) {
      tell({fmt::format("cannot start a worker process: {}", error.what()), false});
    }
  }
  void end_worker() {
    tell(worker_->end());
    worker_.reset();
  }
  void tell(const WorkerProcess::Ending& ending) {
    to_first_.add(Json{{"ended", ending.how}, {"killed", ending.killed}}.dump());
  }

  Channel channel_;
  const StartWorker& start_;
  std::unique_ptr<ChildProcess> worker_;
  LineBuffer from_first_;
  LineBuffer from_worker_;
  Outbox to_first_;
  Outbox to_worker_;
  bool dismissed_ = false;
};

/// A connection that rank 0 has accepted; empty, with the reason in `why`, if rank 0 has not
/// accepted it yet. Throws JobLost if rank 0 rejects this rank.
std::optional<Channel> admitted(const JobOptions& options, double timeout_s, std::string& why) {
  std::optional<Channel> channel = connect_to_first(options, why);
  if (!channel) return std::nullopt;
  try {
    channel->send(to_line(hello_of(options)));
    const auto answer = channel->receive(timeout_s, options.interrupted);
    if (!answer) {
      why = "rank 0 has not answered";
      return std::nullopt;
    }
    const Json json = Json::parse(*answer);
    if (json.contains("welcome")) return channel;
    throw JobLost(
        fmt::format("rank {}: {}", options.place.rank, json.at("refused").get<std::string>()));
  } catch (const ChannelClosed&) {
    why = "rank 0 closed the connection: the job secret differs, or rank 0 has ended";
    return std::nullopt;
  }
}

Channel join_rank_0(const JobOptions& options) {
  constexpr std::chrono::milliseconds kRetryPeriod{20};
  const double end_s = steady_seconds() + options.patience_s;
  std::string why;
  for (;;) {
    const double left_s = end_s - steady_seconds();
    if (left_s <= 0 || options.interrupted()) {
      throw JobLost(fmt::format("rank {}: rank 0 did not accept this process within {:g} s: {}",
                                options.place.rank, options.patience_s, why));
    }
    if (auto channel = admitted(options, left_s, why)) return *std::move(channel);
    std::this_thread::sleep_for(kRetryPeriod);
  }
}

}  // namespace

void serve_as_agent(const JobOptions& options, const StartWorker& start) {
  Agent agent(join_rank_0(options), start);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    std::signal(signal, SIG_IGN);
  if (!agent.serve()) throw JobLost(fmt::format("rank {}: rank 0 was lost", options.place.rank));
}

}  // namespace gpuexp
