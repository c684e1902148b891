#include "base/file_watch.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sha256.hpp"
#include "base/steady_clock.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMaxHashedBytes = std::int64_t{16} << 20;
constexpr double kMaxQuietWaitS = 2;
constexpr std::int64_t kNanoseconds = 1'000'000'000;

int milliseconds(double seconds) {
  return std::max(1, static_cast<int>(1000 * seconds));
}

// A link, and the file that it names: editors replace either.
std::vector<fs::path> paths_of(const fs::path& file) {
  std::error_code error;
  const fs::path target = fs::canonical(file, error);
  return error ? std::vector{file} : std::vector{file, target};
}

}  // namespace

FileWatch::FileWatch(const FileWatchOptions& options) : options_(options) {
  if (options.uses_events) events_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
}

FileWatch::~FileWatch() {
  if (events_ >= 0) ::close(events_);
}

FileWatch::Identity FileWatch::identity_of(const fs::path& file) {
  struct stat of {};
  if (::stat(file.c_str(), &of) != 0) return std::nullopt;
  return std::tuple(std::uint64_t{of.st_dev}, std::uint64_t{of.st_ino}, std::int64_t{of.st_size},
                    of.st_mtim.tv_sec * kNanoseconds + of.st_mtim.tv_nsec);
}

// Two writes within the resolution of the file system's times may have the same identity.
bool FileWatch::is_recent(const Identity& identity) {
  constexpr std::int64_t kResolution = kNanoseconds;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return identity && std::get<3>(*identity) + kResolution > now.tv_sec * kNanoseconds + now.tv_nsec;
}

FileWatch::State FileWatch::state_of(const fs::path& file) {
  State state{identity_of(file), ""};
  if (!state.identity) return state;
  const auto& [device, inode, bytes, time] = *state.identity;
  if (bytes > kMaxHashedBytes) {
    state.contents =
        std::to_string(inode) + " " + std::to_string(bytes) + " " + std::to_string(time);
    return state;
  }
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (in) state.contents = sha256(text.str());
  return state;
}

void FileWatch::watch(const std::vector<fs::path>& files) {
  std::map<fs::path, State> accepted;
  std::map<fs::path, State> current;
  std::vector<fs::path> added;
  for (const fs::path& file : files) {
    const fs::path path = fs::absolute(file).lexically_normal();
    const auto known = accepted_.find(path);
    if (known == accepted_.end()) added.push_back(path);
    accepted[path] = known == accepted_.end() ? State() : known->second;
    current[path] = known == accepted_.end() ? State() : current_.at(path);
  }
  accepted_ = std::move(accepted);
  current_ = std::move(current);
  if (events_ >= 0) watch_folders();
  for (const fs::path& path : added)
    accepted_[path] = current_[path] = state_of(path);
}

void FileWatch::accept() {
  refresh(take_events());
  accepted_ = current_;
}

// Watches folders, because a watch of a file ends when the file is replaced.
void FileWatch::watch_folders() {
  constexpr std::uint32_t kChanges = IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM |
                                     IN_CREATE | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF |
                                     IN_ONLYDIR;
  names_.clear();
  std::set<int> needed;
  for (const auto& [file, state] : accepted_) {
    for (const fs::path& path : paths_of(file)) {
      names_.insert(path.filename().string());
      needed.insert(::inotify_add_watch(events_, path.parent_path().c_str(), kChanges));
    }
  }
  for (const int watch : folders_)
    if (!needed.contains(watch)) ::inotify_rm_watch(events_, watch);
  folders_ = std::move(needed);
}

// Returns whether an event concerns a watched file, or whether events were lost.
bool FileWatch::take_events() {
  if (events_ < 0) return false;
  constexpr std::size_t kBytes = 4096;
  alignas(inotify_event) std::array<char, kBytes> buffer{};
  bool concerns = false;
  for (ssize_t bytes = 0; (bytes = ::read(events_, buffer.data(), buffer.size())) > 0;) {
    for (ssize_t at = 0; at < bytes;) {
      const auto* const event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      concerns = concerns || event->len == 0 || names_.contains(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  return concerns;
}

// Reads files that may have changed. Returns whether a file differs from its contents at the last
// call.
bool FileWatch::refresh(bool is_suspected) {
  bool differs = false;
  for (auto& [file, state] : current_) {
    const Identity identity = identity_of(file);
    if (!is_suspected && identity == state.identity && !is_recent(identity)) continue;
    State now = state_of(file);
    differs = differs || now.contents != state.contents ||
              now.identity.has_value() != state.identity.has_value();
    state = std::move(now);
  }
  return differs;
}

bool FileWatch::has_changed() {
  refresh(take_events());
  return std::ranges::any_of(current_, [&](const auto& file) {
    const State& before = accepted_.at(file.first);
    return file.second.contents != before.contents ||
           file.second.identity.has_value() != before.identity.has_value();
  });
}

bool FileWatch::wait(int descriptor, const std::function<bool()>& give_up) {
  while (!has_changed()) {
    if (give_up()) return false;
    // poll() ignores negative descriptors.
    std::array<pollfd, 2> sources{{{descriptor, POLLIN, 0}, {events_, POLLIN, 0}}};
    ::poll(sources.data(), sources.size(), milliseconds(options_.poll_s));
    if (sources[0].revents != 0) return has_changed();
  }
  return true;
}

void FileWatch::wait_until_quiet(const std::function<bool()>& give_up) {
  const double end_s = steady_seconds() + kMaxQuietWaitS;
  double changed_s = steady_seconds();
  for (double now_s = changed_s; now_s < std::min(changed_s + options_.quiet_s, end_s);
       now_s = steady_seconds()) {
    if (give_up()) return;
    pollfd source{events_, POLLIN, 0};
    ::poll(&source, 1, milliseconds(changed_s + options_.quiet_s - now_s));
    if (refresh(take_events())) changed_s = steady_seconds();
  }
}

}  // namespace gpuexp
