#include "worker/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config_error.hpp"
#include "base/steady_clock.hpp"
#include "run/rank_exchange.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSecretDigits = 32;  // 128 bits
constexpr std::string_view kDigits = "0123456789abcdef";

struct HostPort {
  std::string host;
  std::string port;
};

/// Parses "node1", "node1:5000", "10.0.0.1:5000" or "[fe80::1]:5000". The default port is "0", any
/// port.
HostPort host_and_port(const std::string& text) {
  const std::size_t bracket = text.find(']');
  if (!text.empty() && text.front() == '[' && bracket != std::string::npos) {
    const bool has_port = bracket + 1 < text.size() && text[bracket + 1] == ':';
    return {text.substr(1, bracket - 1), has_port ? text.substr(bracket + 2) : "0"};
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.find(':') != colon) return {text, "0"};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

void check_secret(const std::string& secret) {
  if (secret.size() != kSecretDigits || secret.find_first_not_of(kDigits) != std::string::npos) {
    throw ConfigError(
        "GPUEXP_JOB_SECRET: expected 32 lowercase hexadecimal digits, such as openssl rand -hex 16 "
        "prints");
  }
}

/// Compares in constant time, so that the time does not reveal the number of matching characters.
bool is_same_secret(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Throws ConfigError if the name has no address.
Addresses addresses_of(const HostPort& place, int flags) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(place.host.c_str(), place.port.c_str(), &wanted, &found);
  if (error != 0) {
    throw ConfigError(
        fmt::format("--listen: {}:{}: {}", place.host, place.port, ::gai_strerror(error)));
  }
  return {found, &::freeaddrinfo};
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

/// TCP_NODELAY, because lines are short; keep-alive, because a host without power closes no
/// connection.
void tune(int socket) {
  constexpr int kIdleS = 10;
  constexpr int kBetweenS = 5;
  constexpr int kProbes = 4;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, kIdleS);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, kBetweenS);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
}

Channel listening(const std::string& where) {
  const HostPort place = host_and_port(where);
  const Addresses addresses = addresses_of(place, AI_PASSIVE);
  Channel listener(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int socket = listener.descriptor();
  // Allows the next run to use a configured port immediately.
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (socket < 0 || ::bind(socket, addresses->ai_addr, addresses->ai_addrlen) != 0 ||
      ::listen(socket, SOMAXCONN) != 0)
    throw ConfigError(fmt::format("--listen {}: {}", where, std::strerror(errno)));
  return listener;
}

/// The numeric address of a listening socket. Throws ConfigError if the socket listens on all
/// interfaces.
HostPort place_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (::getsockname(socket, any, &size) != 0 ||
      ::getnameinfo(any, size, host.data(), host.size(), port.data(), port.size(),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    throw ConfigError(fmt::format("--listen: {}", std::strerror(errno)));
  const std::string name = host.data();
  if (name == "0.0.0.0" || name == "::") {
    throw ConfigError(fmt::format(
        "--listen {}: expected the address of one interface that the other hosts can reach", name));
  }
  return {name, port.data()};
}

/// Creates the folder if it is missing. Throws ConfigError if other users can enter the folder.
void require_private_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  ::mkdir(folder.c_str(), S_IRWXU);
  struct stat found {};
  if (::lstat(folder.c_str(), &found) != 0)
    throw ConfigError(fmt::format("{}: {}", folder.string(), std::strerror(errno)));
  if (!S_ISDIR(found.st_mode) || found.st_uid != ::geteuid() ||
      (found.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw ConfigError(
        fmt::format("{}: the job's secret needs a folder that only this user can access (mode "
                    "0700); set GPUEXP_JOB_DIR to use another folder",
                    folder.string()));
  }
}

fs::path file_of(const JobOptions& options) {
  return options.folder / ("job-" + options.place.id);
}

/// Writes the file atomically, so that no reader sees an incomplete file. Throws ConfigError.
void write_invitation(const fs::path& file, const HostPort& place, const std::string& secret) {
  const std::string text = fmt::format("{}\n{}\n{}\n", place.host, place.port, secret);
  const fs::path begun = file.string() + ".new";
  ::unlink(begun.c_str());
  const Channel out(::open(begun.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           S_IRUSR | S_IWUSR));
  if (out.descriptor() < 0 ||
      ::write(out.descriptor(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::rename(begun.c_str(), file.c_str()) != 0)
    throw ConfigError(fmt::format("{}: {}", file.string(), std::strerror(errno)));
}

struct Invitation {
  HostPort place;
  std::string secret;
};

std::optional<Invitation> find_invitation(const JobOptions& options, std::string& why) {
  if (!options.secret.empty()) {
    check_secret(options.secret);
    return Invitation{host_and_port(options.listen), options.secret};
  }
  require_private_folder(options.folder);
  const fs::path file = file_of(options);
  const Channel in(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (in.descriptor() < 0) {
    why = fmt::format("{}: {}", file.string(), std::strerror(errno));
    return std::nullopt;
  }
  std::array<char, NI_MAXHOST + NI_MAXSERV> text{};
  const ssize_t size = ::read(in.descriptor(), text.data(), text.size());
  LineBuffer lines;
  lines.append({text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))});
  const auto host = lines.next();
  const auto port = lines.next();
  const auto secret = lines.next();
  if (!secret) {
    why = fmt::format("{}: expected a host, a port and a secret", file.string());
    return std::nullopt;
  }
  return Invitation{{*host, *port}, *secret};
}

}  // namespace

Rendezvous::Rendezvous(const JobOptions& options)
    : secret_(options.secret.empty() ? random_meeting() : options.secret),
      listener_(listening(options.listen)) {
  check_secret(secret_);
  const HostPort place = place_of(listener_.descriptor());
  if (!options.secret.empty()) {
    if (host_and_port(options.listen).port == "0") {
      throw ConfigError(
          "GPUEXP_JOB_SECRET: the other ranks also need a port: set --listen HOST:PORT or "
          "GPUEXP_LISTEN");
    }
    return;
  }
  require_private_folder(options.folder);
  write_invitation(file_of(options), place, secret_);
  file_ = file_of(options);
}

Rendezvous::~Rendezvous() {
  if (!file_.empty()) ::unlink(file_.c_str());
}

void Rendezvous::accept_guest() {
  constexpr std::size_t kMaxGuests = 256;
  constexpr double kPatienceS = 5;
  Channel channel(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (channel.descriptor() < 0 || guests_.size() >= kMaxGuests) return;
  tune(channel.descriptor());
  guests_.push_back({std::move(channel), "", steady_seconds() + kPatienceS});
}

/// True once the connection has sent as many characters as a secret and its newline have, or has
/// ended.
bool Rendezvous::hear(Guest& guest) {
  std::array<char, kSecretDigits + 1> said{};  // including the newline
  const std::size_t missing = said.size() - guest.said.size();
  const ssize_t count = ::recv(guest.channel.descriptor(), said.data(), missing, MSG_DONTWAIT);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count <= 0) return true;
  guest.said.append(said.data(), static_cast<std::size_t>(count));
  return guest.said.size() == said.size();
}

std::optional<Channel> Rendezvous::accept(double timeout_s) {
  constexpr double kMillisecondsPerSecond = 1e3;
  const double end_s = steady_seconds() + timeout_s;
  for (;;) {
    const double now_s = steady_seconds();
    std::erase_if(guests_, [&](const Guest& guest) { return guest.until_s < now_s; });
    std::vector<pollfd> wanted{{listener_.descriptor(), POLLIN, 0}};
    for (const Guest& guest : guests_)
      wanted.push_back({guest.channel.descriptor(), POLLIN, 0});
    const double left_s = std::clamp(end_s - now_s, 0.0, 1.0);
    ::poll(wanted.data(), wanted.size(), static_cast<int>(left_s * kMillisecondsPerSecond) + 1);
    for (std::size_t i = guests_.size(); i-- > 0;) {
      if (wanted[i + 1].revents == 0 || !hear(guests_[i])) continue;
      Guest guest = std::move(guests_[i]);
      guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_same_secret(guest.said, secret_ + '\n')) return std::move(guest.channel);
      ++turned_away_;
    }
    if (wanted[0].revents != 0) accept_guest();
    if (steady_seconds() >= end_s) return std::nullopt;
  }
}

std::optional<Channel> connect_to_first(const JobOptions& options, std::string& why) {
  const auto invitation = find_invitation(options, why);
  if (!invitation) return std::nullopt;
  const Addresses addresses = addresses_of(invitation->place, 0);
  Channel channel(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // SO_SNDTIMEO also limits connect(), which a host that is down does not answer.
  const timeval patience{5, 0};
  ::setsockopt(channel.descriptor(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(channel.descriptor(), addresses->ai_addr, addresses->ai_addrlen) != 0) {
    why = fmt::format("{}:{}: {}", invitation->place.host, invitation->place.port,
                      std::strerror(errno));
    return std::nullopt;
  }
  tune(channel.descriptor());
  try {
    channel.send(invitation->secret);
  } catch (const ChannelClosed& error) {
    why = error.what();
    return std::nullopt;
  }
  return channel;
}

}  // namespace gpuexp
