// The processes of a job, started by a launcher (mpirun, srun): one per GPU that problems may span.
// Each process registers at rank 0 with one line.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpuexp {

struct JobPlace {
  int rank = 0;
  int ranks = 1;
  int local_rank = 0;  ///< rank among the processes of its host
  std::string id;      ///< unique per job; empty if the launcher provides none
};

using EnvironmentLookup = std::function<const char*(const char* name)>;

/// The position according to GPUEXP_RANK and GPUEXP_RANKS, or to the variables of Open MPI, MPICH,
/// Intel MPI or a Slurm step. Empty if no launcher started several processes; a Slurm batch script
/// is one process, regardless of its job's number of tasks. Throws ConfigError if the variables do
/// not determine rank and number of ranks.
std::optional<JobPlace> launched_place(const EnvironmentLookup& environment);

/// A process's place in a job, and options that must be equal in all processes of the job.
struct JobOptions {
  JobPlace place;
  std::string listen = "127.0.0.1";  ///< HOST or HOST:PORT, where rank 0 listens
  /// 32 lowercase hexadecimal digits, which require a port in `listen`. If empty, rank 0 writes its
  /// address and a new secret to a file.
  std::string secret;
  std::filesystem::path folder;        ///< folder of the file with the secret
  std::vector<std::string> arguments;  ///< command line without the program's name
  double patience_s = 60;              ///< maximum seconds to wait for other ranks to connect
  std::function<bool()> interrupted = [] { return false; };  ///< true ends the wait
};

/// A process of the job has ended or never connected; the run cannot continue.
class JobLost : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// First character of a line that the agent forwards to or from its worker.
inline constexpr char kOfWorker = '=';

struct Hello {
  int rank = 0;
  int local_rank = 0;
  std::string host;
  std::string boot;                    ///< identifies the host by its boot id
  std::vector<std::string> arguments;  ///< command line without the program's name
};

Hello hello_of(const JobOptions& options);
std::string to_line(const Hello& hello);
Hello hello_from(const std::string& line);

}  // namespace gpuexp
