// One problem's buffers in device memory, between guards.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

/// A buffer with guard zones right before its first and right after its last byte.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t bytes);

  unsigned char* data() const;
  std::int64_t bytes() const { return bytes_; }
  void set_guards(const CudaStream& stream) const;
  /// Adds the number of guard bytes that were written to *d_changed.
  void queue_check(unsigned long long* d_changed, const CudaStream& stream) const;

 private:
  std::int64_t bytes_;
  DeviceMemory memory_;
};

/// Buffers and inputs of one problem; copies of equal seeds are equal. The family and the problem
/// outlive it.
class ProblemCopy {
 public:
  ProblemCopy(const Family& family, const void* problem, std::uint64_t seed,
              const CudaStream& stream);

  const void* data() const { return data_.get(); }
  const std::vector<GuardedMemory>& buffers() const { return buffers_; }
  std::int64_t bytes() const;

  void poison(const std::vector<std::size_t>& outputs, const CudaStream& stream) const;
  /// Restores what launches change and then find, where the family has such.
  void reset(const CudaStream& stream) const;

  /// Name of a buffer whose guards were written, which are then whole again; empty when none was.
  std::string overrun(const CudaStream& stream);
  /// Name of an input that was written to, all of which are then made anew; empty when none was.
  std::string changed_input(const CudaStream& stream);

 private:
  void make_inputs(const CudaStream& stream);
  std::vector<unsigned long long> fingerprints(const CudaStream& stream);
  template <class Queue>
  unsigned long long counted(const CudaStream& stream, const Queue& queue);

  const Family& family_;
  const void* problem_;
  std::uint64_t seed_;
  std::vector<GuardedMemory> buffers_;
  std::shared_ptr<const void> data_;
  DeviceMemory scratch_;
  std::vector<unsigned long long> fingerprints_;  ///< of the inputs as they were made
};

/// Indices of the buffers that the variant fills.
std::vector<std::size_t> written_by(const Family& family, const Variant& variant);

/// Device bytes of a problem's buffers without their guards.
std::int64_t buffer_bytes(const Family& family, const void* problem);

}  // namespace gpuexp
