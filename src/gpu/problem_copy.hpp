#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "gpu/guarded_memory.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// Buffers and inputs of one problem. Copies with the same seed have equal contents. The family and
/// the problem must outlive the copy.
class ProblemCopy {
 public:
  /// With `peers`, these are one rank's buffers, and all ranks can access their device memory.
  ProblemCopy(const Family& family, const void* problem, std::uint64_t seed,
              const CudaStream& stream, PeerGroup* peers = nullptr);

  /// The family's data with the buffers' addresses, which launches use.
  const void* data() const { return data_.get(); }
  /// The family's data with the images' addresses, which references use.
  const void* image() const { return image_.get(); }
  const std::vector<GuardedMemory>& buffers() const { return buffers_; }
  std::int64_t bytes() const;

  void poison(const std::vector<std::size_t>& outputs, const CudaStream& stream) const;
  /// Restores the buffers that launches both read and modify. With `launch`, skips managed memory
  /// that this launch does not access, because a reset transfers the whole buffer.
  void reset(const PreparedSteps* launch, const CudaStream& stream) const;
  /// True if reset() transfers managed buffers between host and device.
  bool resets_managed_memory() const;

  /// Updates the images after launches of these steps; must precede all checks. Skips buffers
  /// outside device memory that the steps do not access, as do the checks below: no launch has
  /// changed these buffers, and a check would transfer them.
  void pull(const PreparedSteps& steps, const CudaStream& stream);
  void pull(const CudaStream& stream);

  /// Name of a buffer whose guards were overwritten, empty if none; restores the guards.
  std::string overrun(const CudaStream& stream);
  /// Fingerprints of the contents by buffer; 0 for inputs.
  std::vector<unsigned long long> output_fingerprints(const CudaStream& stream);
  /// Name of an input that was modified, empty if none. Generates all inputs again if one was.
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
  bool has_peers_;                                ///< peers' launches also write to these buffers
  std::vector<bool> is_pulled_;                   ///< by buffer
  std::vector<unsigned long long> fingerprints_;  ///< one per buffer, for the generated inputs
};

std::int64_t buffer_bytes(const Family& family, const void* problem);

}  // namespace gpuexp
