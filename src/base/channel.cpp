#include "base/channel.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/steady_clock.hpp"

namespace gpuexp {

std::optional<std::string> LineBuffer::next() {
  const std::size_t end = text_.find('\n', begin_);
  if (end == std::string::npos) return std::nullopt;
  std::string line = text_.substr(begin_, end - begin_);
  begin_ = end + 1;
  if (begin_ == text_.size()) {
    text_.clear();
    begin_ = 0;
  }
  return line;
}

Channel::~Channel() {
  close();
}

Channel::Channel(Channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), received_(std::move(other.received_)) {}

Channel& Channel::operator=(Channel&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(received_, other.received_);
  return *this;
}

void Channel::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void Channel::send(std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view left = text;
  while (!left.empty()) {
    // MSG_NOSIGNAL turns a closed connection into an error instead of a fatal SIGPIPE.
    const ssize_t sent = ::send(descriptor_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw ChannelClosed(std::strerror(errno));
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
}

std::optional<std::string> Channel::receive(double timeout_s,
                                            const std::function<bool()>& give_up) {
  // Calls `give_up` at intervals, because a signal interrupts poll() only in the thread that
  // receives it.
  constexpr double kSliceS = 0.1;
  const double end_s = steady_seconds() + timeout_s;
  for (;;) {
    if (auto line = received_.next()) return line;
    const double left_s = end_s - steady_seconds();
    if (left_s <= 0 || give_up()) return std::nullopt;
    if (wait_readable(std::min(left_s, kSliceS))) read_some();
  }
}

std::string Channel::receive() {
  for (;;) {
    if (auto line = received_.next()) return *std::move(line);
    read_some();
  }
}

bool Channel::wait_readable(double timeout_s) const {
  constexpr double kMillisecondsPerSecond = 1e3;
  pollfd wanted{descriptor_, POLLIN, 0};
  const int ready = ::poll(&wanted, 1, static_cast<int>(timeout_s * kMillisecondsPerSecond) + 1);
  return ready > 0;
}

void Channel::read_some() {
  std::array<char, 1 << 16> chunk{};
  const ssize_t count = ::read(descriptor_, chunk.data(), chunk.size());
  if (count < 0 && errno == EINTR) return;
  if (count < 0) throw ChannelClosed(std::strerror(errno));
  if (count == 0) throw ChannelClosed("closed by the other end");
  received_.append({chunk.data(), static_cast<std::size_t>(count)});
}

}  // namespace gpuexp
