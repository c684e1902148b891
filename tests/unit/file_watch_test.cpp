// A watched file is saved as editors save files.
#include "base/file_watch.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "base/steady_clock.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

void write_text(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

/// A folder with the watched files main.cu, which exists, and absent.cu.
struct WatchedFolder {
  explicit WatchedFolder(bool uses_events) : watch({0.02, 0.02, uses_events}) {
    write_text(main, "first");
    write_text(folder.path() / "other.cu", "other");
    watch.watch({main, absent});
  }

  /// Whether a change is found within `seconds`.
  bool changes(double seconds) {
    const double end_s = steady_seconds() + seconds;
    return watch.wait(-1, [&] { return steady_seconds() >= end_s; });
  }

  ScratchFolder folder;
  fs::path main = folder.path() / "main.cu";
  fs::path absent = folder.path() / "absent.cu";
  fs::path other = folder.path() / "other.cu";
  FileWatch watch;
};

struct Save {
  const char* what;
  bool is_change;
  std::function<void(const WatchedFolder&)> save;
};

const std::vector<Save>& saves() {
  static const std::vector<Save> all{
      {"written in place", true, [](const auto& of) { write_text(of.main, "second"); }},
      {"written with the same length", true, [](const auto& of) { write_text(of.main, "fIrst"); }},
      {"replaced by rename", true,
       [](const auto& of) {
         write_text(of.folder.path() / ".main.cu.swp", "second");
         fs::rename(of.folder.path() / ".main.cu.swp", of.main);
       }},
      {"renamed away and written", true,
       [](const auto& of) {
         fs::rename(of.main, of.folder.path() / "main.cu~");
         write_text(of.main, "second");
       }},
      {"deleted", true, [](const auto& of) { fs::remove(of.main); }},
      {"deleted and created again", true,
       [](const auto& of) {
         fs::remove(of.main);
         write_text(of.main, "second");
       }},
      {"created", true, [](const auto& of) { write_text(of.absent, ""); }},
      {"written several times", true,
       [](const auto& of) {
         for (const char* const text : {"", "sec", "second"})
           write_text(of.main, text);
       }},
      {"written with the same contents", false,
       [](const auto& of) { write_text(of.main, "first"); }},
      {"deleted and created with the same contents", false,
       [](const auto& of) {
         fs::remove(of.main);
         write_text(of.main, "first");
       }},
      {"another file of the folder", false, [](const auto& of) { write_text(of.other, "second"); }},
      {"nothing", false, [](const auto&) {}},
  };
  return all;
}

TEST_CASE("a watch finds each way to save a file, with events and by polling") {
  for (const bool uses_events : {true, false}) {
    for (const Save& save : saves()) {
      INFO(save.what << (uses_events ? "" : ", polled"));
      WatchedFolder folder(uses_events);
      CHECK_FALSE(folder.watch.has_changed());
      save.save(folder);
      CHECK(folder.changes(save.is_change ? 5 : 0.1) == save.is_change);
      folder.watch.accept();
      CHECK_FALSE(folder.watch.has_changed());
    }
  }
}

TEST_CASE("a watch follows a file through a symbolic link to another folder") {
  const ScratchFolder target;
  write_text(target.path() / "real.cu", "first");
  const ScratchFolder folder;
  const fs::path link = folder.path() / "main.cu";
  fs::create_symlink(target.path() / "real.cu", link);
  constexpr double kLongPollS = 60;  // only an event is found in time
  FileWatch watch({0.02, kLongPollS, true});
  watch.watch({link});
  write_text(target.path() / "real.cu", "second");
  const double end_s = steady_seconds() + 5;
  CHECK(watch.wait(-1, [&] { return steady_seconds() >= end_s; }));
}

TEST_CASE("a folder that is created after the watch began is found by polling") {
  const ScratchFolder folder;
  const fs::path file = folder.path() / "later" / "main.cu";
  FileWatch watch({0.02, 0.02, true});
  watch.watch({file});
  fs::create_directories(file.parent_path());
  write_text(file, "first");
  const double end_s = steady_seconds() + 5;
  CHECK(watch.wait(-1, [&] { return steady_seconds() >= end_s; }));
}

TEST_CASE("a change that is undone is no change") {
  WatchedFolder folder(true);
  write_text(folder.main, "second");
  CHECK(folder.watch.has_changed());
  write_text(folder.main, "first");
  CHECK_FALSE(folder.watch.has_changed());
}

TEST_CASE("a file that is watched later is compared with its contents at that time") {
  WatchedFolder folder(true);
  write_text(folder.other, "second");
  write_text(folder.main, "second");
  folder.watch.watch({folder.main, folder.other});
  CHECK(folder.watch.has_changed());  // main.cu, which was watched before
  folder.watch.accept();
  CHECK_FALSE(folder.watch.has_changed());
  write_text(folder.other, "third");
  CHECK(folder.watch.has_changed());
  folder.watch.watch({folder.main});
  CHECK_FALSE(folder.watch.has_changed());
}

TEST_CASE("the wait for quiet ends after the last of several writes") {
  WatchedFolder folder(true);
  write_text(folder.main, "second");
  int writes = 0;
  const double start_s = steady_seconds();
  folder.watch.wait_until_quiet([&] {
    if (++writes <= 5) write_text(folder.main, std::string(static_cast<std::size_t>(writes), 'x'));
    return false;
  });
  CHECK(writes > 5);
  CHECK(steady_seconds() - start_s >= 0.02);
  CHECK(folder.watch.has_changed());
}

TEST_CASE("a wait ends when its caller gives up") {
  WatchedFolder folder(true);
  int calls = 0;
  CHECK_FALSE(folder.watch.wait(-1, [&] { return ++calls == 3; }));
  CHECK(calls == 3);
}

}  // namespace
}  // namespace gpuexp::test
