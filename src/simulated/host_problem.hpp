// One problem's buffers in host memory, for kernels that the CPU executes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "family/family.hpp"
#include "record/measurement.hpp"
#include "sim/host_memory.hpp"
#include "sim/simulator.hpp"
#include "simulated/host_references.hpp"

namespace gpuexp {

/// Buffers, inputs and references of one problem on every rank. A launch contains each rank's
/// steps; counts and times are rank 0's. The family and the simulator must outlive this object.
/// While it exists, the simulator's kernels can access only its memory.
class HostProblem {
 public:
  /// Throws sim::Fault and std::runtime_error, as Simulator::run does.
  HostProblem(const Family& family, const Values& values, std::uint64_t seed,
              const DeviceSpec& device, sim::Simulator& simulator);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  std::span<const std::byte> buffer(std::size_t index) const;

  /// The buffer that contains the address; null if none does.
  const Buffer* buffer_at(const void* address) const;
  /// Residence of the buffer that contains the address; Residence::device if no buffer contains it.
  Residence residence_of(const void* address) const;

  /// Selects the blocks that later launches execute; empty: all blocks.
  void set_sampling(const std::optional<sim::BlockSampling>& sampling) { sampling_ = sampling; }

  /// Restores variables of modules and the buffers that launches modify and read, and invalidates
  /// the variant's outputs. If check() will compare all elements, computes missing references that
  /// do not depend on results.
  void poison(const Variant& variant);

  /// Sets the signal words of all ranks (Buffer::flags_from) to values of a later launch, so that
  /// kernels of a rank run as if the other ranks were ahead.
  void signal_ahead();

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// Steps of a launch on a rank. Restores the buffers that launches modify and read.
  Steps steps(const Variant& variant, int rank = 0);

  /// Launches the variant and returns the executions of rank 0's kernels. Several ranks run
  /// concurrently; one host thread per rank executes the rank's blocks in order.
  std::vector<sim::KernelExecution> launch(const Variant& variant);

  /// Verifies the variant's last launch, and restores inputs that the launch changed. If the launch
  /// executed only some blocks, compares elements that these blocks wrote: all of them, or a random
  /// sample whose reference takes about one second. Otherwise compares all elements, or such a
  /// sample and the first element that no block wrote if the reference of all takes more than
  /// minutes, or the checks of all take more than about 5 s.
  Verification check(const Variant& variant);

  MetricValues measured_metrics(const Variant& variant);

  /// Called on each rank's thread before its launch; tests use it to delay a rank.
  std::function<void(int rank)> before_launch;

 private:
  struct Sample {
    std::vector<ElementRange> ranges;
    std::vector<std::vector<double>> got;
  };

  struct Rank {
    int number = 0;
    std::vector<HostMemory> buffers;
    std::shared_ptr<const void> data;
    std::optional<HostReferences> references;
    std::vector<std::pair<const Variant*, HostMemory>> workspaces;
  };

  void allocate(Rank& rank);
  std::vector<sim::KernelExecution> launch_ranks(const Variant& variant);
  void bind();
  void make_inputs();
  void restore();
  std::string name_of(const Rank& rank, std::size_t buffer) const;
  Comparison comparison_of(const Rank& rank, std::size_t output) const;
  void poison_gaps(Rank& rank, std::size_t output);
  /// The first element with an unwritten byte; empty if there is none.
  std::optional<std::int64_t> first_unwritten(const Rank& rank, std::size_t output) const;
  void check(Rank& rank, const Variant& variant, Verification& result);
  void check_whole(Rank& rank, std::size_t output, Verification& result);
  void check_sample(Rank& rank, const Variant& variant, Verification& result);
  std::vector<ElementRange> stored_ranges(Rank& rank, std::size_t output);
  Sample sample_of(Rank& rank, std::size_t output, double share);
  void check_elements(Rank& rank, std::size_t output, const Sample& sample, Verification& result);
  /// Restores inputs that the last launch changed. Returns the name of the first; empty if none.
  std::string changed_input();
  LaunchContext context(Rank& rank, const Variant& variant);

  const Family& family_;
  std::uint64_t seed_;
  const DeviceSpec& device_;
  sim::Simulator& simulator_;
  std::shared_ptr<const void> problem_;
  std::vector<Rank> ranks_;
  std::optional<HostMemory> report_;  ///< a WaitReport, for problems that span GPUs
  std::optional<sim::BlockSampling> sampling_;
  bool was_sampled_ = false;
  bool draws_elements_ = false;  ///< for the variant of the last poison()
};

}  // namespace gpuexp
