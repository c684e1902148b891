// The processes that a launcher (mpirun, srun) started together: one for each GPU that problems may
// span; and the line with which each greets rank 0.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuexp {

/// The place of this process among them.
struct JobPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< among those of its host
  std::string id;      ///< what tells this job from others; empty where the launcher does not say
};

/// The value of an environment variable; null where it is not set.
using EnvironmentLookup = std::function<const char*(const char* name)>;

/// By GPUEXP_RANK and GPUEXP_RANKS, or the variables of Open MPI, MPICH and Intel MPI, or of a step
/// of Slurm. Empty where no launcher started several processes: a batch script of Slurm is one
/// process, however many tasks its job may have. Throws ConfigError for variables that do not say
/// who and how many.
std::optional<JobPlace> launched_place(const EnvironmentLookup& environment);

/// What all processes of a job have to agree about.
struct JobOptions {
  JobPlace place;
  std::string listen = "127.0.0.1";  ///< HOST or HOST:PORT, where rank 0 listens
  /// 32 hexadecimal digits, and `listen` has a port; or empty: rank 0 leaves them in a file.
  std::string secret;
  std::filesystem::path folder;        ///< where that file is
  std::vector<std::string> arguments;  ///< of the command line, without the program's name
  double patience_s = 60;              ///< how long ranks wait for each other to come
  std::function<bool()> interrupted = [] { return false; };  ///< nobody waits after it
};

/// A process of the job is gone or has never come: the run cannot go on.
class JobLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr char kOfWorker = '=';

/// How a process of a job presents itself.
struct Hello {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  std::string boot;                    ///< tells hosts apart, whatever they are called
  std::vector<std::string> arguments;  ///< of its command line
};

Hello hello_of(const JobOptions& options);
std::string to_line(const Hello& hello);
/// Throws JsonError for another line.
Hello hello_from(const std::string& line);

}  // namespace gpuexp
