#include "compile/nvrtc_server.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/json.hpp"
#include "base/process.hpp"
#include "compile/nvrtc.hpp"
#include "compile/nvrtc_headers.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr const char* kSocket = "nvrtc.socket";
constexpr const char* kNoServer = "no NVRTC process";
constexpr std::size_t kMaxMessage = std::size_t{64} << 10;
/// NVRTC's memory for precompiled headers has room for few.
constexpr std::size_t kMaxPrefixes = 2;

/// Messages have boundaries. The descriptor is closed with the object.
class MessageSocket {
 public:
  explicit MessageSocket(int descriptor) : descriptor_(descriptor) {}
  ~MessageSocket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  MessageSocket(const MessageSocket&) = delete;
  MessageSocket& operator=(const MessageSocket&) = delete;

  int descriptor() const { return descriptor_; }
  bool send(const std::string& message) const {
    return ::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(message.size());
  }
  /// Empty if the other end is closed.
  std::string receive() const {
    std::string message(kMaxMessage, '\0');
    ssize_t bytes = 0;
    do
      bytes = ::recv(descriptor_, message.data(), message.size(), 0);
    while (bytes < 0 && errno == EINTR);
    message.resize(static_cast<std::size_t>(std::max<ssize_t>(bytes, 0)));
    return message;
  }
  /// Waits at most `milliseconds` for a message or for the end of the other process.
  bool is_readable(int milliseconds) const {
    pollfd source{descriptor_, POLLIN, 0};
    return ::poll(&source, 1, milliseconds) > 0;
  }

 private:
  int descriptor_;
};

sockaddr_un address_of(const fs::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.string().size() >= sizeof address.sun_path)
    throw std::runtime_error(fmt::format("the path {} is too long for a socket", socket.string()));
  socket.string().copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

int new_socket() {
  return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

Json json_of_job(const NvrtcJob& job, const ToolCommand& command, const ToolLimits& limits) {
  return {{"source", job.source},     {"cubin", job.cubin},       {"options", job.options},
          {"prefix", job.prefix},     {"folder", command.folder}, {"output", command.output},
          {"errors", command.errors}, {"time_s", limits.time_s},  {"memory", limits.memory_bytes},
          {"file", limits.file_bytes}};
}

bool send_job(const MessageSocket& server, const fs::path& path, const NvrtcJob& job,
              const ToolCommand& command, const ToolLimits& limits) {
  const sockaddr_un address = address_of(path);
  const std::string request = json_of_job(job, command, limits).dump();
  return request.size() <= kMaxMessage &&
         ::connect(server.descriptor(), reinterpret_cast<const sockaddr*>(&address),
                   sizeof address) == 0 &&
         server.send(request);
}

/// The process that NvrtcServer starts.
class NvrtcTemplate {
 public:
  NvrtcTemplate(fs::path library, fs::path folder)
      : library_(std::move(library)), folder_(std::move(folder)), nvrtc_(library_) {}

  void serve(const MessageSocket& listening) {
    while (true) {
      const MessageSocket client(::accept(listening.descriptor(), nullptr, nullptr));
      if (client.descriptor() < 0) continue;
      const std::string message = client.receive();
      if (message.empty()) continue;
      answer(client, Json::parse(message));
    }
  }

 private:
  void answer(const MessageSocket& client, const Json& request) {
    NvrtcJob job;
    job.source = request.at("source").get<std::string>();
    job.cubin = request.at("cubin").get<std::string>();
    job.options = request.at("options").get<std::vector<std::string>>();
    job.prefix = request.at("prefix").get<std::string>();
    precompile(job);
    if (job.source.empty() || ::fork() != 0) return;
    ::signal(SIGCHLD, SIG_DFL);  // run_in_copy() waits
    ToolCommand command;
    command.folder = request.at("folder").get<std::string>();
    command.output = request.at("output").get<std::string>();
    command.errors = request.at("errors").get<std::string>();
    ToolLimits limits;
    limits.time_s = request.at("time_s").get<double>();
    limits.memory_bytes = request.at("memory").get<std::uint64_t>();
    limits.file_bytes = request.at("file").get<std::uint64_t>();
    limits.interrupted = [&] { return client.is_readable(0); };  // the client has gone
    const std::string ending = run_in_copy(command, limits, [&] { return compile(job); });
    client.send(ending.empty() ? "done" : ending);
    ::_exit(0);
  }

  std::vector<std::string> with_precompiled(std::vector<std::string> options) const {
    options.insert(options.end(), {"--pch", "--pch-dir=" + folder_.string()});
    return options;
  }

  // The first request with a prefix waits for it. The prefix has only headers of the toolkit.
  void precompile(const NvrtcJob& job) {
    if (job.prefix.empty() || known_.size() >= kMaxPrefixes) return;
    if (!known_.insert(fmt::format("{}\n{}", fmt::join(job.options, " "), job.prefix)).second)
      return;
    Nvrtc::Program program;
    program.name = "precompiled.cu";
    program.text = job.prefix + "__global__ void nothing() {}\n";
    program.options = with_precompiled(job.options);
    try {
      nvrtc_.compile(program);
    } catch (const std::runtime_error&) {
      // Compilations do without the precompiled header.
    }
  }

  int compile(const NvrtcJob& job) const {
    try {
      const std::string errors =
          run_nvrtc(library_, job.source, job.cubin, with_precompiled(job.options));
      fmt::print(stderr, "{}", errors);
      return errors.empty() ? 0 : kNvrtcErrors;
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      return 1;
    }
  }

  fs::path library_;
  fs::path folder_;
  Nvrtc nvrtc_;
  std::set<std::string> known_;
};

[[noreturn]] void be_nvrtc_server(const fs::path& library, const fs::path& folder,
                                  const MessageSocket& listening, pid_t parent) {
  end_with_parent(parent);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    ::signal(signal, SIG_IGN);  // SIGCHLD: children leave no zombies
  // A copy whose client has gone, and with it the file for its errors, must not write to a
  // terminal.
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::dup2(nowhere, stream);
  try {
    NvrtcTemplate(library, folder).serve(listening);
  } catch (const std::exception&) {  // run() then finds no server
  }
  ::_exit(1);
}

}  // namespace

NvrtcServer::NvrtcServer(const fs::path& library) : owner_(::getpid()) {
  write_stand_ins(headers(), library);
  const MessageSocket listening(new_socket());
  const sockaddr_un address = address_of(folder_ / kSocket);
  constexpr int kQueue = 64;
  if (::bind(listening.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
          0 ||
      ::listen(listening.descriptor(), kQueue) != 0)
    throw std::runtime_error(fmt::format("no socket for NVRTC: {}", std::strerror(errno)));
  std::fflush(nullptr);
  process_ = ::fork();
  if (process_ == 0) be_nvrtc_server(library, folder_.path(), listening, owner_);
  if (process_ < 0)
    throw std::runtime_error(fmt::format("no process for NVRTC: {}", std::strerror(errno)));
}

NvrtcServer::~NvrtcServer() {
  if (::getpid() != owner_) return;
  ::kill(process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
}

fs::path NvrtcServer::headers() const {
  return folder_ / "headers";
}

void NvrtcServer::prepare(const std::vector<std::string>& options,
                          const std::string& prefix) const {
  const MessageSocket server(new_socket());
  send_job(server, folder_ / kSocket, {"", "", options, prefix}, {}, {});
}

std::string NvrtcServer::run(const NvrtcJob& job, const ToolCommand& command,
                             const ToolLimits& limits) const {
  const MessageSocket server(new_socket());
  if (!send_job(server, folder_ / kSocket, job, command, limits)) return kNoServer;
  constexpr int kPauseMs = 2;
  while (!server.is_readable(kPauseMs)) {
    if (limits.interrupted && limits.interrupted()) return "interrupted";
  }
  const std::string ending = server.receive();
  if (ending.empty()) return kNoServer;
  return ending == "done" ? "" : ending;
}

}  // namespace gpuexp
