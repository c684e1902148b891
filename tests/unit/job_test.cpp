// Rank and size of this process, read from the launcher's environment variables.
#include "worker/job.hpp"

#include <map>

#include "base/config_error.hpp"
#include "device/device_error.hpp"
#include "support/catch.hpp"
#include "worker/job_ranks.hpp"

namespace gpuexp::test {
namespace {

using Variables = std::map<std::string, std::string>;

std::optional<JobPlace> place_of(const Variables& variables) {
  return launched_place([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST_CASE("the rank is read from each launcher's variables") {
  struct Case {
    const char* launcher;
    Variables variables;
    JobPlace place;
  };
  const auto c = GENERATE(
      Case{"Open MPI",
           {{"OMPI_COMM_WORLD_RANK", "5"},
            {"OMPI_COMM_WORLD_SIZE", "8"},
            {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
            {"PMIX_RANK", "5"},
            {"PMIX_NAMESPACE", "prterun-node1-77@1"}},
           {5, 8, 1, "prterun-node1-77_1"}},
      Case{"Open MPI, whose daemons Slurm has started",
           {{"OMPI_COMM_WORLD_RANK", "3"},
            {"OMPI_COMM_WORLD_SIZE", "4"},
            {"OMPI_COMM_WORLD_LOCAL_RANK", "3"},
            {"PMIX_NAMESPACE", "1637351425"},
            {"SLURM_PROCID", "0"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_STEP_NUM_TASKS", "2"}},
           {3, 4, 3, "1637351425"}},
      Case{"MPICH and Intel MPI",
           {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "0"}, {"PMI_FD", "7"}},
           {2, 4, 0, ""}},
      Case{"PMI of Slurm",
           {{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"PMI_JOBID", "12.1"}},
           {2, 4, 2, "12.1"}},
      Case{"srun",
           {{"SLURM_JOB_ID", "99"},
            {"SLURM_STEP_ID", "3"},
            {"SLURM_PROCID", "6"},
            {"SLURM_LOCALID", "2"},
            {"SLURM_NTASKS", "16"},
            {"SLURM_STEP_NUM_TASKS", "8"}},
           {6, 8, 2, "99.3"}},
      Case{"any other",
           {{"GPUEXP_RANK", "0"}, {"GPUEXP_RANKS", "2"}, {"GPUEXP_JOB_ID", "../a b"}},
           {0, 2, 0, ".._a_b"}});
  INFO(c.launcher);
  const auto place = place_of(c.variables);
  REQUIRE(place);
  CHECK(place->rank == c.place.rank);
  CHECK(place->ranks == c.place.ranks);
  CHECK(place->local_rank == c.place.local_rank);
  CHECK(place->id == c.place.id);
}

TEST_CASE("a single process has no job") {
  const auto variables =
      GENERATE(Variables{},
               // mpirun -n 1
               Variables{{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}},
               // srun -n 1
               Variables{{"SLURM_JOB_ID", "99"},
                         {"SLURM_STEP_ID", "0"},
                         {"SLURM_PROCID", "0"},
                         {"SLURM_NTASKS", "1"},
                         {"SLURM_STEP_NUM_TASKS", "1"}},
               // The batch script of sbatch -n 8, or a task of a job array: not a job step.
               Variables{{"SLURM_JOB_ID", "99"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}},
               // The shell of salloc -n 8.
               Variables{{"SLURM_JOB_ID", "99"}, {"SLURM_NTASKS", "8"}});
  CHECK_FALSE(place_of(variables));
}

TEST_CASE("incomplete or invalid variables are named in an error") {
  struct Case {
    Variables variables;
    const char* names;
  };
  const auto c =
      GENERATE(Case{{{"OMPI_COMM_WORLD_RANK", "0"}}, "OMPI_COMM_WORLD_SIZE"},
               Case{{{"PMIX_RANK", "1"}}, "PMIX_RANK"},
               Case{{{"GPUEXP_RANK", "x"}, {"GPUEXP_RANKS", "2"}}, "GPUEXP_RANK=x"},
               Case{{{"GPUEXP_RANK", "-1"}, {"GPUEXP_RANKS", "2"}}, "GPUEXP_RANK=-1"},
               Case{{{"PMI_RANK", "4"}, {"PMI_SIZE", "4"}}, "PMI_RANK=4, but PMI_SIZE=4"});
  INFO(c.names);
  try {
    place_of(c.variables);
    FAIL("no error");
  } catch (const ConfigError& error) {
    CHECK_THAT(error.what(), contains_text(c.names));
  }
}

TEST_CASE("an error names both ranks that share a GPU") {
  GpuOwners owners;
  owners.take(0, "GPU-a");
  owners.take(1, "GPU-b");
  owners.take(1, "GPU-b");  // a restarted worker
  try {
    owners.take(2, "GPU-b");
    FAIL("no error");
  } catch (const DeviceError& error) {
    CHECK_FALSE(error.device_lost());
    CHECK_THAT(error.what(), contains_text("its GPU, GPU-b, is also used by rank 1"));
  }
}

}  // namespace
}  // namespace gpuexp::test
