// One problem's buffers, between guards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "gpu/guarded_memory.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Buffers and inputs of one problem; copies of equal seeds are equal. The family and the problem
/// outlive it.
class ProblemCopy {
 public:
  /// With `peers`, one rank's buffers, all of which reach each other's device memory.
  ProblemCopy(const Family& family, const void* problem, std::uint64_t seed,
              const CudaStream& stream, PeerGroup* peers = nullptr);

  /// The family's data with buffers where they live, for launches.
  const void* data() const { return data_.get(); }
  /// The same with images in device memory, for references.
  const void* image() const { return image_.get(); }
  const std::vector<GuardedMemory>& buffers() const { return buffers_; }
  std::int64_t bytes() const;

  void poison(const std::vector<std::size_t>& outputs, const CudaStream& stream) const;
  /// Restores what launches change and then find, where the family has such. With `launch`, managed
  /// memory that this launch does not reach stays where it is: to move it costs a transfer of all
  /// of it.
  void reset(const PreparedSteps* launch, const CudaStream& stream) const;
  /// Whether reset() moves buffers between the host and the device.
  bool resets_managed_memory() const;

  /// Has images show what launches of the steps left; to be called before all that look at results.
  /// Buffers outside of device memory that the steps do not reach are left out, here and below: no
  /// launch has changed them, and to look at each costs a transfer of all of it.
  void pull(const PreparedSteps& steps, const CudaStream& stream);
  /// The same of all buffers.
  void pull(const CudaStream& stream);

  /// Name of a buffer whose guards were written, which are then whole again; empty when none was.
  std::string overrun(const CudaStream& stream);
  /// One number per buffer that tells the contents of what launches write; 0 for inputs.
  std::vector<unsigned long long> output_fingerprints(const CudaStream& stream);
  /// Name of an input that was written to, all of which are then made anew; empty when none was.
  std::string changed_input(const CudaStream& stream);

 private:
  void bind(const PeerGroup* peers);
  void make_inputs(const CudaStream& stream);
  std::vector<unsigned long long> input_fingerprints(const CudaStream& stream);
  unsigned long long fingerprint(std::size_t buffer, const CudaStream& stream);
  template <class Queue>
  unsigned long long counted(const CudaStream& stream, const Queue& queue);

  const Family& family_;
  const void* problem_;
  std::uint64_t seed_;
  std::vector<GuardedMemory> buffers_;
  std::shared_ptr<const void> data_;
  std::shared_ptr<const void> image_;
  DeviceMemory scratch_;
  bool has_peers_;                                ///< whose launches write to these buffers, too
  std::vector<bool> is_pulled_;                   ///< of each buffer
  std::vector<unsigned long long> fingerprints_;  ///< of the inputs as they were made
};

/// Device bytes of a problem's buffers without their guards.
std::int64_t buffer_bytes(const Family& family, const void* problem);

}  // namespace gpuexp
