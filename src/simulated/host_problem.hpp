// One problem's buffers in the host's memory, for kernels that the CPU executes.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "family/family.hpp"
#include "record/measurement.hpp"
#include "sim/simulator.hpp"

namespace gpuexp {

/// Buffers, inputs and references of one problem. The family and the simulator outlive it; while it
/// lives, its memory is all that the simulator's kernels may reach.
class HostProblem {
 public:
  /// Throws sim::Fault and std::runtime_error as Simulator::run.
  HostProblem(const Family& family, const Values& values, std::uint64_t seed,
              const DeviceSpec& device, sim::Simulator& simulator);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  /// Memory of the family's buffer with this index.
  std::span<const std::byte> buffer(std::size_t index) const {
    return {static_cast<const std::byte*>(buffers_[index].data()), buffers_[index].bytes()};
  }

  /// Restores what launches change and then find, computes the references unless they are there,
  /// and fills what the variant writes with a pattern that no result may keep.
  void poison(const Variant& variant);

  /// What a launch of the variant did, kernel by kernel.
  std::vector<sim::KernelExecution> launch(const Variant& variant);

  /// What the buffers show of the variant's last launch. Inputs that it changed are made anew.
  Verification check(const Variant& variant);

  MetricValues measured_metrics(const Variant& variant);

 private:
  class Memory {
   public:
    explicit Memory(std::size_t bytes);
    void* data() const { return begin_.get(); }
    std::size_t bytes() const { return bytes_; }

   private:
    std::unique_ptr<void, void (*)(void*)> begin_;
    std::size_t bytes_;
  };
  /// The reference of one output, in fp64.
  struct Reference {
    std::vector<double> value;
    std::vector<double> magnitude;
    std::vector<double> accurate;  ///< of inputs that were never rounded; empty where it is `value`
  };

  void make_inputs();
  void make_references();
  std::vector<std::size_t> fingerprints() const;
  LaunchContext context(const Variant& variant);
  bool is_written(std::size_t buffer, const Variant& variant) const;

  const Family& family_;
  std::uint64_t seed_;
  const DeviceSpec& device_;
  sim::Simulator& simulator_;
  std::shared_ptr<const void> problem_;
  std::vector<Memory> buffers_;
  std::shared_ptr<const void> data_;
  std::vector<std::size_t> fingerprints_;  ///< of the inputs as they were made; 0 of other buffers
  std::vector<Reference> references_;  ///< by buffer, of outputs; none before they are asked for
  std::vector<std::pair<const Variant*, Memory>> workspaces_;
};

}  // namespace gpuexp
