#include "compile/module_store.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/output.hpp"
#include "base/report_error.hpp"
#include "base/sha256.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kCubin = "module.cubin";
constexpr const char* kNewFolder = ".new-XXXXXX";
constexpr const char* kOldFolder = ".old-XXXXXX";

/// The texts in the store, and the members of the dump that they are.
constexpr std::array<std::pair<const char*, std::string ObjectDump::*>, 3> kDumps{{
    {"resource_usage.txt", &ObjectDump::resource_usage},
    {"sass.txt", &ObjectDump::sass},
    {"elf.txt", &ObjectDump::elf},
}};

std::string folder_name(const std::string& request, const std::vector<ModuleDependency>& files) {
  Sha256 hash;
  hash.add(request);
  for (const ModuleDependency& file : files)
    hash.add(fmt::format("\n{} {}", file.sha256, file.path));
  return hash.digest();
}

// Their contents now. Throws JsonError if a file cannot be read.
std::vector<ModuleDependency> hashed(const std::vector<std::string>& paths) {
  std::vector<ModuleDependency> files;
  for (const std::string& path : paths) {
    files.push_back({path, sha256_of_file(path)});
    if (files.back().sha256.empty()) throw JsonError("a missing file");
  }
  if (files.empty()) throw JsonError("no files");
  return files;
}

// Throws JsonError if the manifest or a file is damaged.
std::string checked_text(const fs::path& folder, const char* name, const Json& manifest) {
  std::string text = text_of_file((folder / name).string());
  if (sha256(text) != manifest.at("files").at(name).get<std::string>())
    throw JsonError("a damaged file");
  return text;
}

StoredModule read_module(const fs::path& folder, const std::string& request,
                         std::vector<ModuleDependency> files) {
  const Json manifest = Json::parse(text_of_file((folder / kManifest).string()));
  if (manifest.at("request").get<std::string>() != request) throw JsonError("another request");
  StoredModule module;
  module.dependencies = std::move(files);
  module.errors = manifest.at("errors").get<std::string>();
  if (!module.errors.empty()) return module;
  module.source_hash = manifest.at("source_hash").get<std::string>();
  module.instantiations = manifest.at("instantiations").get<std::vector<std::string>>();
  module.cubin = folder / kCubin;
  module.dump.name = manifest.at("name").get<std::string>();
  checked_text(folder, kCubin, manifest);
  for (const auto& [name, member] : kDumps)
    module.dump.*member = checked_text(folder, name, manifest);
  return module;
}

bool write_text(const fs::path& file, std::string_view text) {
  std::ofstream out(file, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  return !out.fail();
}

bool write_module(const fs::path& folder, const std::string& request, const StoredModule& module) {
  Json hashes = Json::object();
  const auto write = [&](const char* name, const std::string& text) {
    hashes[name] = sha256(text);
    return write_text(folder / name, text);
  };
  const bool has_code = module.errors.empty();
  bool written = !has_code || write(kCubin, text_of_file(module.cubin.string()));
  for (const auto& [name, member] : kDumps)
    written = written && (!has_code || write(name, module.dump.*member));
  Json files = Json::array();
  for (const ModuleDependency& file : module.dependencies)
    files.push_back(Json{{"path", file.path}, {"sha256", file.sha256}});
  const Json manifest{{"request", request},
                      {"name", module.dump.name},
                      {"source_hash", module.source_hash},
                      {"instantiations", module.instantiations},
                      {"errors", module.errors},
                      {"files", hashes},
                      {"dependencies", files}};
  return written && write_text(folder / kManifest, manifest.dump(1));
}

fs::path new_folder(const fs::path& in, const char* pattern) {
  std::string name = (in / pattern).string();
  return mkdtemp(name.data()) ? fs::path(name) : fs::path();
}

// Renames a folder to one that may exist. A process that reads the old one keeps its open files.
bool replace_folder(const fs::path& made, const fs::path& target) {
  std::error_code error;
  fs::rename(made, target, error);
  if (!error) return true;
  const fs::path old = new_folder(target.parent_path(), kOldFolder);
  if (old.empty()) return false;
  std::error_code ignored;
  fs::rename(target, old, ignored);  // replaces the empty folder
  fs::rename(made, target, error);
  fs::remove_all(old, ignored);
  return !error;
}

bool is_of_store(const std::string& name) {
  constexpr std::size_t kHashDigits = 64;
  if (name.starts_with(".new-") || name.starts_with(".old-")) return true;
  return name.find_first_not_of("0123456789abcdef") >= kHashDigits &&
         (name.size() == kHashDigits || name.substr(kHashDigits) == ".json");
}

void mark_used(const fs::path& path) {
  std::error_code ignored;
  fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);
}

}  // namespace

std::string sha256_of_file(const fs::path& file) {
  std::error_code error;
  if (!fs::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  if (!in) return "";
  return sha256(text_of_file(file.string()));
}

fs::path ModuleStore::index_of(const std::string& request) const {
  return folder_ / (sha256(request) + ".json");
}

std::optional<StoredModule> ModuleStore::find(const std::string& request) const {
  if (folder_.empty()) return std::nullopt;
  const fs::path index = index_of(request);
  try {
    const Json listed = Json::parse(text_of_file(index.string()));
    std::vector<ModuleDependency> files =
        hashed(listed.at("dependencies").get<std::vector<std::string>>());
    const std::string made_for = listed.at("request").get<std::string>();
    const fs::path folder = folder_ / folder_name(made_for, files);
    StoredModule module = read_module(folder, made_for, std::move(files));
    mark_used(index);
    mark_used(folder);
    return module;
  } catch (const JsonError&) {
    return std::nullopt;
  }
}

fs::path ModuleStore::keep(const std::string& request, const StoredModule& module,
                           const std::vector<std::string>& others) const {
  if (folder_.empty()) return {};
  std::error_code error;
  fs::create_directories(folder_, error);
  const fs::path made = new_folder(folder_, kNewFolder);
  if (made.empty()) return {};
  const fs::path target = folder_ / folder_name(request, module.dependencies);
  Json paths = Json::array();
  for (const ModuleDependency& file : module.dependencies)
    paths.push_back(file.path);
  bool is_kept = write_module(made, request, module) && replace_folder(made, target);
  if (!is_kept) fs::remove_all(made, error);
  try {
    const std::string index = Json{{"dependencies", paths}, {"request", request}}.dump();
    if (is_kept) write_file_atomically(index_of(request).string(), index);
    for (const std::string& other : others)
      if (is_kept) write_file_atomically(index_of(other).string(), index);
  } catch (const ReportError&) {
    // The module is kept, but a later run does not find it.
  }
  remove_unused();
  return is_kept ? target / kCubin : fs::path();
}

void ModuleStore::remove_unused() const {
  const auto oldest = fs::file_time_type::clock::now() - std::chrono::hours(24 * 30);
  std::error_code error;
  std::vector<fs::path> unused;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unknown;
    const auto used = entry->last_write_time(unknown);
    if (!unknown && used < oldest && is_of_store(entry->path().filename().string()))
      unused.push_back(entry->path());
  }
  for (const fs::path& path : unused)
    fs::remove_all(path, error);
}

}  // namespace gpuexp
