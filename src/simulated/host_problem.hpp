// One problem's buffers in the host's memory, for kernels that the CPU executes.
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
#include "sim/simulator.hpp"
#include "simulated/host_memory.hpp"
#include "simulated/host_references.hpp"

namespace gpuexp {

/// Buffers, inputs and references of one problem, on every rank that it spans. A launch has each
/// rank's steps in turn; counts and times are of rank 0's. The family and the simulator outlive it;
/// while it lives, its memory is all that the simulator's kernels may reach.
class HostProblem {
 public:
  /// Throws sim::Fault and std::runtime_error as Simulator::run.
  HostProblem(const Family& family, const Values& values, std::uint64_t seed,
              const DeviceSpec& device, sim::Simulator& simulator);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  /// Memory of the family's buffer with this index, on rank 0.
  std::span<const std::byte> buffer(std::size_t index) const;

  /// Of the buffer that an address lies in; device memory where it is none's.
  Residence residence_of(const void* address) const;

  /// Which blocks of launches are executed from now on; none: all of them.
  void set_sampling(const std::optional<sim::BlockSampling>& sampling) { sampling_ = sampling; }

  /// Restores what launches change and then find, and forgets what was written to the outputs of
  /// the variant. Where all blocks are executed, makes the references unless they are there.
  void poison(const Variant& variant);

  /// Puts into the state of all ranks what others tell in a later launch (Buffer::flags_from):
  /// kernels of a rank then run as if the others were ahead.
  void tell_ahead();

  int ranks() const { return static_cast<int>(ranks_.size()); }
  /// What a launch of the variant consists of on a rank, on inputs as launches find them.
  Steps steps(const Variant& variant, int rank = 0);

  /// What a launch of the variant did on rank 0, kernel by kernel. Ranks run at once, each on a
  /// thread of its own, and execute their blocks in order.
  std::vector<sim::KernelExecution> launch(const Variant& variant);

  /// What the buffers show of the variant's last launch. Where some of its blocks were executed,
  /// the elements that those wrote are compared: all, or so many drawn by the seed as a reference
  /// of about a second allows. Inputs that it changed are made anew.
  Verification check(const Variant& variant);

  MetricValues measured_metrics(const Variant& variant);

  /// Called on each rank's thread before its launch: for tests that have one come late.
  std::function<void(int rank)> before_launch;

 private:
  /// Some elements of an output, as a launch left them, range by range.
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
  void check(Rank& rank, const Variant& variant, Verification& result);
  void check_whole(Rank& rank, std::size_t output, Verification& result);
  void check_sample(Rank& rank, const Variant& variant, Verification& result);
  std::vector<ElementRange> stored_ranges(Rank& rank, std::size_t output);
  Sample sample_of(Rank& rank, std::size_t output, double share);
  void check_elements(Rank& rank, std::size_t output, const Sample& sample, Verification& result);
  /// The first input that the last launch has changed; all are as they were afterwards.
  std::string changed_input();
  LaunchContext context(Rank& rank, const Variant& variant);

  const Family& family_;
  std::uint64_t seed_;
  const DeviceSpec& device_;
  sim::Simulator& simulator_;
  std::shared_ptr<const void> problem_;
  std::vector<Rank> ranks_;
  std::optional<HostMemory> report_;  ///< a WaitReport, of problems that span GPUs
  std::optional<sim::BlockSampling> sampling_;
  bool was_sampled_ = false;  ///< the last launch
};

}  // namespace gpuexp
