#include "base/process_copies.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <utility>

#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"

namespace gpuexp {

namespace {

// Messages on the template's socket have fixed sizes; both ends are the same program. A request is
// the id of the copy to end, or kStart or kStandby, with which the new process's socket is sent.
constexpr pid_t kStart = 0;
constexpr pid_t kStandby = -1;
constexpr int kNoSocket = -1;

struct Started {
  pid_t process;  ///< -1: fork() failed
  int error;      ///< errno of fork()
};

struct Ended {
  std::array<char, 64> how;  ///< WorkerProcess::Ending::how, with a final zero
  bool killed;
};

union SocketMessage {
  std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  cmsghdr aligned;
};

bool send_whole(int to, const void* data, std::size_t bytes, int sent_socket) {
  iovec part{const_cast<void*>(data), bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  SocketMessage control{};
  if (sent_socket != kNoSocket) {
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &sent_socket, sizeof(int));
  }
  ssize_t sent = 0;
  do
    sent = ::sendmsg(to, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes);
}

/// Sets `socket` if one came with the message.
bool receive_whole(int from, void* data, std::size_t bytes, int& socket) {
  iovec part{data, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  SocketMessage control{};
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t received = 0;
  do
    received = ::recvmsg(from, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
  while (received < 0 && errno == EINTR);
  if (const cmsghdr* const header = CMSG_FIRSTHDR(&message))
    std::memcpy(&socket, CMSG_DATA(header), sizeof(int));
  return received == static_cast<ssize_t>(bytes);
}

// _exit() leaves buffered output to this process's parent, which has the same buffers.
[[noreturn]] void run_copy(const std::function<void(Channel&)>& body, int socket) {
  try {
    Channel channel(socket);
    body(channel);
  } catch (const std::exception&) {  // such as ChannelClosed, if the other end needs nothing more
    ::_exit(1);
  }
  ::_exit(0);
}

Started started(const std::function<void(Channel&)>& body, int socket, int own_socket) {
  const pid_t parent = ::getpid();
  const pid_t copy = ::fork();
  const int error = errno;
  if (copy == 0) {
    end_with_parent(parent);
    ::close(own_socket);
    run_copy(body, socket);
  }
  ::close(socket);
  return {copy, error};
}

Ended ended(pid_t copy) {
  const WorkerProcess::Ending ending = end_child(copy);
  Ended answer{{}, ending.killed};
  ending.how.copy(answer.how.data(), answer.how.size() - 1);
  return answer;
}

[[noreturn]] void be_template(const std::function<void(Channel&)>& body, int own_socket);

// A standby outlives its parent, the template. It ends when the other end of its socket is closed.
Started started_standby(const std::function<void(Channel&)>& body, int socket, int own_socket) {
  const pid_t standby = ::fork();
  const int error = errno;
  if (standby == 0) {
    ::close(own_socket);
    be_template(body, socket);
  }
  ::close(socket);
  return {standby, error};
}

[[noreturn]] void be_template(const std::function<void(Channel&)>& body, int own_socket) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_IGN);
  pid_t request = kStart;
  bool is_sent = true;
  for (int socket = kNoSocket;
       is_sent && receive_whole(own_socket, &request, sizeof request, socket); socket = kNoSocket) {
    if (request == kStart || request == kStandby) {
      const Started answer = request == kStart ? started(body, socket, own_socket)
                                               : started_standby(body, socket, own_socket);
      is_sent = send_whole(own_socket, &answer, sizeof answer, kNoSocket);
    } else {
      const Ended answer = ended(request);
      is_sent = send_whole(own_socket, &answer, sizeof answer, kNoSocket);
    }
  }
  ::_exit(0);
}

}  // namespace

class ProcessCopies::Copy final : public WorkerProcess {
 public:
  Copy(ProcessCopies& copies, Channel channel, pid_t id)
      : copies_(copies),
        channel_(std::move(channel)),
        id_(id),
        of_template_(copies.replacements_) {}
  ~Copy() override { Copy::end(); }

  void send(std::string_view line) override { channel_.send(line); }
  std::optional<std::string> receive(double timeout_s,
                                     const std::function<bool()>& give_up) override {
    return channel_.receive(timeout_s, give_up);
  }

  Ending end() override {
    if (id_ < 0) return {"it had already ended", false};
    channel_.close();
    return copies_.end(std::exchange(id_, -1), of_template_);
  }

 private:
  ProcessCopies& copies_;
  Channel channel_;
  pid_t id_;
  std::size_t of_template_;  ///< ProcessCopies::replacements_ at its start
};

ProcessCopies::ProcessCopies(const std::function<void(Channel&)>& body) {
  const auto [here, there] = connected_sockets();
  template_ = Channel(here);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  const int error = errno;
  if (child_ == 0) {
    end_with_parent(parent);
    ::close(here);
    be_template(body, there);
  }
  ::close(there);
  if (child_ < 0) throw std::system_error(error, std::generic_category(), "fork");
  standby_ = new_standby();
}

ProcessCopies::~ProcessCopies() {
  standby_.close();
  template_.close();
  if (child_ > 0) end_child(child_);
}

/// Empty if the template has ended.
template <class Answer>
std::optional<Answer> ProcessCopies::ask(pid_t request, int sent_socket) {
  Answer answer{};
  int none = kNoSocket;
  const int socket = template_.descriptor();
  const bool has_answered = send_whole(socket, &request, sizeof request, sent_socket) &&
                            receive_whole(socket, &answer, sizeof answer, none);
  return has_answered ? std::optional(answer) : std::nullopt;
}

/// Closed if none can be started: copies can still be started then, as long as the template lives.
Channel ProcessCopies::new_standby() {
  try {
    const auto [here, there] = connected_sockets();
    Channel channel(here);
    const Channel sent(there);
    const auto started = ask<Started>(kStandby, sent.descriptor());
    if (started && started->process >= 0) return channel;
  } catch (const std::system_error&) {
    // There are no descriptors left.
  }
  return Channel(kNoSocket);
}

/// False if there is no standby.
bool ProcessCopies::replace_template() {
  if (standby_.descriptor() < 0) return false;
  if (child_ > 0) end_child(std::exchange(child_, -1));
  template_.close();
  template_ = std::move(standby_);
  ++replacements_;
  standby_ = new_standby();
  return true;
}

std::unique_ptr<WorkerProcess> ProcessCopies::start() {
  const std::lock_guard lock(mutex_);
  do {
    const auto [here, there] = connected_sockets();
    Channel channel(here);
    const Channel sent(there);
    const auto started = ask<Started>(kStart, sent.descriptor());
    if (started && started->process < 0)
      throw std::system_error(started->error, std::generic_category(), "fork");
    if (started) return std::make_unique<Copy>(*this, std::move(channel), started->process);
  } while (replace_template());
  throw std::system_error(EPIPE, std::generic_category(), "the template of copies ended");
}

WorkerProcess::Ending ProcessCopies::end(pid_t copy, std::size_t of_template) {
  const std::lock_guard lock(mutex_);
  const auto answer = of_template == replacements_ ? ask<Ended>(copy, kNoSocket) : std::nullopt;
  if (answer) return {answer->how.data(), answer->killed};
  return {"its parent was killed", true};  // the system then kills the copy
}

}  // namespace gpuexp
