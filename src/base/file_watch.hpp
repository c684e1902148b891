// Waits until files change. Editors replace, truncate, delete and re-create files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace gpuexp {

struct FileWatchOptions {
  double quiet_s = 0.05;  ///< seconds without a difference after which a change has ended
  /// Interval, in seconds, in which files are read without an event. Network file systems, and
  /// folders before their creation, send no events.
  double poll_s = 0.5;
  bool uses_events = true;  ///< false: files are only polled
};

/// A file has changed when its contents differ, or when it was created or deleted. A file that is
/// written with the same contents has not changed. For files above 16 MiB, size, time and inode are
/// compared instead of the contents. A copy of this process made by fork() must not use the object.
class FileWatch {
 public:
  explicit FileWatch(const FileWatchOptions& options = {});
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// From now on, these files are watched, and no others. Paths may be relative, and need not
  /// exist. Files that were watched before are still compared with the contents that accept() read;
  /// others with their present contents.
  void watch(const std::vector<std::filesystem::path>& files);

  /// From now on, files are compared with their present contents.
  void accept();

  /// Whether a file differs from its accepted contents. Does not wait.
  bool has_changed();

  /// Waits until has_changed(), until `descriptor` can be read (-1: none) or until `give_up`
  /// returns true. `give_up` is called after each signal and at least every poll_s. Returns
  /// has_changed().
  bool wait(int descriptor, const std::function<bool()>& give_up);

  /// Waits until the files have stayed the same for quiet_s, at most 2 s, or until `give_up`
  /// returns true: programs save a file in several steps.
  void wait_until_quiet(const std::function<bool()>& give_up);

 private:
  /// Device, inode, bytes and time of the last write in ns; empty if the file does not exist.
  using Identity =
      std::optional<std::tuple<std::uint64_t, std::uint64_t, std::int64_t, std::int64_t>>;
  struct State {
    Identity identity;
    std::string contents;  ///< hash of the contents; empty if the file cannot be read
  };

  static Identity identity_of(const std::filesystem::path& file);
  static bool is_recent(const Identity& identity);
  static State state_of(const std::filesystem::path& file);
  void watch_folders();
  bool take_events();
  bool refresh(bool is_suspected);

  FileWatchOptions options_;
  int events_ = -1;              ///< inotify's descriptor; -1: none
  std::set<int> folders_;        ///< inotify's watches
  std::set<std::string> names_;  ///< names that events have of watched files
  std::map<std::filesystem::path, State> accepted_;
  std::map<std::filesystem::path, State> current_;
};

}  // namespace gpuexp
