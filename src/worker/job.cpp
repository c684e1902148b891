#include "worker/job.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/host_name.hpp"
#include "base/listed_json.hpp"
#include "base/text.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<Hello>{&Hello::rank, &Hello::local_rank, &Hello::host,
                                                  &Hello::boot, &Hello::arguments};

namespace {

struct Launcher {
  const char* rank;
  const char* ranks;
  const char* local_rank;
  const char* id;
};

// This program's variables come first, for launchers that are not listed. Slurm comes last, because
// the other launchers run under it. SLURM_NTASKS is unsuitable, because batch scripts have it too.
constexpr std::array<Launcher, 4> kLaunchers{
    {{"GPUEXP_RANK", "GPUEXP_RANKS", "GPUEXP_LOCAL_RANK", nullptr},
     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
      "PMIX_NAMESPACE"},
     {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_JOBID"},
     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr}}};

class LauncherVariables {
 public:
  explicit LauncherVariables(const EnvironmentLookup& lookup) : lookup_(lookup) {}

  std::string text(const char* name) const {
    const char* const value = name ? lookup_(name) : nullptr;
    return value ? value : "";
  }
  bool has(const char* name) const { return !text(name).empty(); }
  int number(const char* name) const {
    const std::string value = text(name);
    const auto number = parsed<int>(value);
    if (!number || *number < 0)
      throw ConfigError(fmt::format("{}={}: expected an integer of at least 0", name, value));
    return *number;
  }

 private:
  const EnvironmentLookup& lookup_;
};

bool is_slurm_step(const LauncherVariables& environment) {
  return environment.has("SLURM_STEP_ID") && environment.has("SLURM_STEP_NUM_TASKS");
}

const Launcher* launcher_of(const LauncherVariables& environment) {
  for (const Launcher& launcher : kLaunchers) {
    if (!environment.has(launcher.rank)) continue;
    if (&launcher == &kLaunchers.back() && !is_slurm_step(environment)) continue;
    if (!environment.has(launcher.ranks)) {
      throw ConfigError(
          fmt::format("{} is set, but not {}: the number of processes is unknown; set both, or "
                      "make each process a run of its own with --ranks here",
                      launcher.rank, launcher.ranks));
    }
    return &launcher;
  }
  if (environment.has("PMIX_RANK")) {
    throw ConfigError(
        "PMIX_RANK is set, but the number of processes is unknown: set GPUEXP_RANK and "
        "GPUEXP_RANKS, or make each process a run of its own with --ranks here");
  }
  return nullptr;
}

std::string id_of(const LauncherVariables& environment, const Launcher& launcher) {
  std::string id = environment.text("GPUEXP_JOB_ID");
  if (id.empty()) id = environment.text(launcher.id);
  if (id.empty() && &launcher == &kLaunchers.back())
    id = environment.text("SLURM_JOB_ID") + "." + environment.text("SLURM_STEP_ID");
  // The id becomes part of a file name.
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
  std::replace_if(
      id.begin(), id.end(), [&](char c) { return kPlain.find(c) == std::string_view::npos; }, '_');
  return id;
}

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

}  // namespace

std::optional<JobPlace> launched_place(const EnvironmentLookup& lookup) {
  const LauncherVariables environment(lookup);
  const Launcher* const launcher = launcher_of(environment);
  if (!launcher) return std::nullopt;
  JobPlace place;
  place.rank = environment.number(launcher->rank);
  place.ranks = environment.number(launcher->ranks);
  if (place.rank >= place.ranks) {
    throw ConfigError(fmt::format("{}={}, but {}={}: expected a rank below the number of ranks",
                                  launcher->rank, place.rank, launcher->ranks, place.ranks));
  }
  if (place.ranks == 1) return std::nullopt;
  place.local_rank =
      environment.has(launcher->local_rank) ? environment.number(launcher->local_rank) : place.rank;
  place.id = id_of(environment, *launcher);
  return place;
}

Hello hello_of(const JobOptions& options) {
  return {options.place.rank, options.place.local_rank, host_name(), boot_id(), options.arguments};
}

std::string to_line(const Hello& hello) {
  return listed_json(hello).dump();
}

Hello hello_from(const std::string& line) {
  return from_listed<Hello>(Json::parse(line));
}

}  // namespace gpuexp
