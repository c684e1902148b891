#include "run/rank_exchange.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/steady_clock.hpp"
#include "device/device_error.hpp"

namespace gpuexp {

namespace {

[[noreturn]] void fail_at(const std::string& step) {
  throw DeviceError(fmt::format("the exchange between ranks: {}: {}", step, std::strerror(errno)),
                    DeviceFault::lost);
}

[[noreturn]] void fail_for(int rank, const std::string& what) {
  throw DeviceError(fmt::format("rank {} {}", rank, what), DeviceFault::peer_lost);
}

// A rank that ends with an error reports the error to the process that drives the ranks. This
// delay lets the report arrive before this rank's own error.
[[noreturn]] void fail_for_gone(int rank, const std::string& what) {
  constexpr std::chrono::milliseconds kReportDelay{300};
  std::this_thread::sleep_for(kReportDelay);
  fail_for(rank, what);
}

OwnedDescriptor new_socket() {
  OwnedDescriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!made) fail_at("socket");
  return made;
}

/// An address in the abstract namespace: it starts with a zero byte and has no file.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& meeting) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "gpuexp-" + meeting;
  if (name.size() + 1 > sizeof address.sun_path)
    throw DeviceError("the exchange between ranks: the name is too long", DeviceFault::lost);
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

bool is_same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

bool wait_readable(int socket, double timeout_s) {
  constexpr double kMillisecondsPerSecond = 1e3;
  pollfd wanted{socket, POLLIN, 0};
  const double end_s = steady_seconds() + timeout_s;
  for (;;) {
    const double left_s = std::max(0.0, end_s - steady_seconds());
    const int ready = ::poll(&wanted, 1, static_cast<int>(left_s * kMillisecondsPerSecond) + 1);
    if (ready > 0) return true;
    if (ready == 0 && steady_seconds() >= end_s) return false;
    if (ready < 0 && errno != EINTR) fail_at("poll");
  }
}

struct DescriptorMessage {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
};

}  // namespace

OwnedDescriptor::~OwnedDescriptor() {
  if (descriptor_ >= 0) ::close(descriptor_);
}
OwnedDescriptor::OwnedDescriptor(OwnedDescriptor&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}
OwnedDescriptor& OwnedDescriptor::operator=(OwnedDescriptor&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

RankExchange::RankExchange(const RankPlace& place, double patience_s)
    : place_(place), patience_s_(patience_s) {
  const auto [address, size] = address_of(place.meeting);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  const double end_s = steady_seconds() + patience_s_;
  if (place.rank == 0) {
    const OwnedDescriptor listener = new_socket();
    if (::bind(listener.get(), any, size) != 0) fail_at("bind");
    if (::listen(listener.get(), place.ranks) != 0) fail_at("listen");
    sockets_.resize(static_cast<std::size_t>(place.ranks));
    for (int missing = place.ranks - 1; missing > 0;) {
      if (!wait_readable(listener.get(), end_s - steady_seconds())) {
        const auto first = std::find_if(sockets_.begin() + 1, sockets_.end(),
                                        [](const OwnedDescriptor& s) { return !s; });
        fail_for(static_cast<int>(first - sockets_.begin()),
                 fmt::format("did not join the exchange between ranks within {:g} s", patience_s_));
      }
      OwnedDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket || !is_same_user(socket.get())) continue;
      std::int32_t rank = 0;
      if (!wait_readable(socket.get(), end_s - steady_seconds()) ||
          ::recv(socket.get(), &rank, sizeof rank, 0) != sizeof rank || rank < 1 ||
          rank >= place.ranks || sockets_[static_cast<std::size_t>(rank)])
        continue;
      sockets_[static_cast<std::size_t>(rank)] = std::move(socket);
      --missing;
    }
    return;
  }
  OwnedDescriptor socket = new_socket();
  while (::connect(socket.get(), any, size) != 0) {
    constexpr std::chrono::milliseconds kRetryPeriod{5};
    if (errno != ECONNREFUSED && errno != EINTR && errno != EAGAIN) fail_at("connect");
    if (steady_seconds() > end_s)
      fail_for(0,
               fmt::format("did not join the exchange between ranks within {:g} s", patience_s_));
    std::this_thread::sleep_for(kRetryPeriod);
  }
  if (!is_same_user(socket.get())) fail_for(0, "is a process of another user");
  const std::int32_t rank = place.rank;
  if (::send(socket.get(), &rank, sizeof rank, MSG_NOSIGNAL) != sizeof rank) fail_at("send");
  sockets_.push_back(std::move(socket));
}

int RankExchange::socket_to(int rank) const {
  return sockets_[place_.rank == 0 ? static_cast<std::size_t>(rank) : 0].get();
}

void RankExchange::send(int rank, const RankMessage& told, int descriptor) const {
  iovec part{const_cast<char*>(told.text.data()), told.text.size()};
  // Without a byte, an empty message would look like the end of the connection.
  char nothing = '\n';
  iovec parts[2] = {{&nothing, 1}, part};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  DescriptorMessage descriptor_message;
  if (descriptor >= 0) {
    message.msg_control = descriptor_message.room.data();
    message.msg_controllen = descriptor_message.room.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  }
  if (::sendmsg(socket_to(rank), &message, MSG_NOSIGNAL) < 0)
    fail_for_gone(rank, fmt::format("has ended: {}", std::strerror(errno)));
}

RankExchange::RankMessage RankExchange::receive(int rank) const {
  const int socket = socket_to(rank);
  // Rank 0 reports the silent rank. The other ranks wait for rank 0 for twice as long, so that its
  // report comes first.
  const double patience_s = place_.rank == 0 ? patience_s_ : 2 * patience_s_;
  if (!wait_readable(socket, patience_s))
    fail_for(rank, fmt::format("has sent nothing for {:g} s", patience_s));
  std::array<char, kLongest + 1> text{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  DescriptorMessage descriptor_message;
  message.msg_control = descriptor_message.room.data();
  message.msg_controllen = descriptor_message.room.size();
  const ssize_t count = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (count <= 0) fail_for_gone(rank, "has ended");
  RankMessage told;
  told.text.assign(text.data() + 1, static_cast<std::size_t>(count - 1));
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header && header->cmsg_type == SCM_RIGHTS) {
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    told.descriptor = OwnedDescriptor(descriptor);
  }
  return told;
}

std::vector<RankExchange::RankMessage> RankExchange::all_gather(const std::string& text,
                                                                int descriptor) {
  if (text.size() > kLongest)
    throw DeviceError("the exchange between ranks: the message is too long", DeviceFault::lost);
  std::vector<RankMessage> told(static_cast<std::size_t>(place_.ranks));
  told[static_cast<std::size_t>(place_.rank)] = {
      text, OwnedDescriptor(descriptor < 0 ? -1 : ::dup(descriptor))};
  if (place_.rank == 0) {
    for (int rank = 1; rank < place_.ranks; ++rank)
      told[static_cast<std::size_t>(rank)] = receive(rank);
    for (int rank = 1; rank < place_.ranks; ++rank) {
      for (const RankMessage& of_one : told)
        send(rank, of_one, of_one.descriptor.get());
    }
  } else {
    send(0, {text, OwnedDescriptor()}, descriptor);
    for (RankMessage& of_one : told)
      of_one = receive(0);
  }
  return told;
}

std::int64_t RankExchange::from_first(std::int64_t value) {
  return std::stoll(all_gather(std::to_string(value)).front().text);
}

bool RankExchange::is_any(bool value) {
  const std::vector<RankMessage> all = all_gather(value ? "yes" : "no");
  return std::any_of(all.begin(), all.end(),
                     [](const RankMessage& told) { return told.text == "yes"; });
}

std::string random_meeting() {
  std::random_device source;
  std::string name;
  constexpr int kWords = 4;
  for (int i = 0; i < kWords; ++i)
    name += fmt::format("{:08x}", source());
  return name;
}

}  // namespace gpuexp
