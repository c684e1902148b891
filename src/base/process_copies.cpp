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
// the id of the copy to end, or kStart, with which the new copy's socket is sent.
constexpr pid_t kStart = 0;
constexpr int kNoSocket = -1;

struct Started {
  pid_t copy;  ///< -1: fork() failed
  int error;   ///< errno of fork()
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

[[noreturn]] void be_template(const std::function<void(Channel&)>& body, int own_socket) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    ::signal(signal, SIG_IGN);
  pid_t request = kStart;
  bool is_sent = true;
  for (int socket = kNoSocket;
       is_sent && receive_whole(own_socket, &request, sizeof request, socket); socket = kNoSocket) {
    if (request == kStart) {
      const Started answer = started(body, socket, own_socket);
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
      : copies_(copies), channel_(std::move(channel)), id_(id) {}
  ~Copy() override { Copy::end(); }

  void send(std::string_view line) override { channel_.send(line); }
  std::optional<std::string> receive(double timeout_s,
                                     const std::function<bool()>& give_up) override {
    return channel_.receive(timeout_s, give_up);
  }

  Ending end() override {
    if (id_ < 0) return {"it had already ended", false};
    channel_.close();
    const pid_t copy = std::exchange(id_, -1);
    try {
      const auto ended = copies_.ask<Ended>(copy, kNoSocket);
      return {ended.how.data(), ended.killed};
    } catch (const std::system_error&) {
      return {"its parent ended", false};
    }
  }

 private:
  ProcessCopies& copies_;
  Channel channel_;
  pid_t id_;
};

ProcessCopies::ProcessCopies(const std::function<void(Channel&)>& body) {
  const auto [here, there] = connected_sockets();
  const pid_t parent = ::getpid();
  template_ = ::fork();
  const int error = errno;
  if (template_ == 0) {
    end_with_parent(parent);
    ::close(here);
    be_template(body, there);
  }
  ::close(there);
  template_socket_ = here;
  if (template_ > 0) return;
  ::close(here);
  throw std::system_error(error, std::generic_category(), "fork");
}

ProcessCopies::~ProcessCopies() {
  ::close(template_socket_);
  end_child(template_);
}

template <class Answer>
Answer ProcessCopies::ask(pid_t ended_copy, int sent_socket) {
  const std::lock_guard lock(mutex_);
  Answer answer{};
  int none = kNoSocket;
  if (!send_whole(template_socket_, &ended_copy, sizeof ended_copy, sent_socket) ||
      !receive_whole(template_socket_, &answer, sizeof answer, none))
    throw std::system_error(EPIPE, std::generic_category(), "the template of copies ended");
  return answer;
}

std::unique_ptr<WorkerProcess> ProcessCopies::start() {
  const auto [here, there] = connected_sockets();
  Channel channel(here);
  const Channel sent(there);
  const auto started = ask<Started>(kStart, sent.descriptor());
  if (started.copy < 0) throw std::system_error(started.error, std::generic_category(), "fork");
  return std::make_unique<Copy>(*this, std::move(channel), started.copy);
}

}  // namespace gpuexp
