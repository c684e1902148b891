#include "gpu/cuda_executor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <vector>

#include <cuda_profiler_api.h>

#include "core/plan.hpp"
#include "gpu/device_ops.hpp"
#include "gpu/resources.hpp"

namespace gpuexp {

namespace {

constexpr unsigned char kGuardPattern = 0xA5;
// All bits set is NaN in every floating-point format, so an element that nobody wrote cannot pass.
constexpr unsigned char kPoison = 0xFF;
// Longer than the host needs to queue two events and a launch (a library call included).
constexpr double kQueueingDelayUs = 40.0;
// Replacement in L2 is not strictly least-recently-used, so one L2's worth of reads leaves
// survivors.
constexpr std::int64_t kFlushFactor = 2;

/// A buffer with guard zones right before its first and right after its last byte.
class GuardedMemory {
 public:
  explicit GuardedMemory(std::int64_t bytes) : bytes_(bytes), memory_(bytes + 2 * kGuardBytes) {}

  unsigned char* data() const { return memory_.as<unsigned char>() + kGuardBytes; }
  std::int64_t bytes() const { return bytes_; }

  void set_guards(const CudaStream& stream) const {
    for (unsigned char* guard : {memory_.as<unsigned char>(), data() + bytes_}) {
      GPUEXP_CUDA(cudaMemsetAsync(guard, kGuardPattern, kGuardBytes, stream.get()));
    }
  }

  void queue_check(unsigned long long* d_changed, const CudaStream& stream) const {
    for (const unsigned char* guard : {memory_.as<unsigned char>(), data() + bytes_}) {
      queue_guard_check(guard, kGuardBytes, kGuardPattern, d_changed, stream.get());
    }
  }

 private:
  std::int64_t bytes_;
  DeviceMemory memory_;
};

/// The fp64 reference of one output.
struct Reference {
  explicit Reference(std::int64_t count) : value(bytes(count)), magnitude(bytes(count)) {}
  static std::int64_t bytes(std::int64_t count) {
    return count * static_cast<std::int64_t>(sizeof(double));
  }
  ReferenceView view() const { return {value.as<double>(), magnitude.as<double>()}; }

  DeviceMemory value;
  DeviceMemory magnitude;
};

/// Zero or more references, by the index of their output; an output that is not asked for has none.
using References = std::map<std::size_t, Reference>;

class CudaExecutor final : public Executor {
 public:
  CudaExecutor(int device_index, const DeviceSpec& device)
      : device_index_(device_index),
        device_(device),
        flush_buffer_(ceil_div(kFlushFactor * device.l2_bytes, 16) * 16),
        sink_(sizeof(unsigned)),
        sums_(sizeof(ComparisonSums)),
        scratch_(sizeof(unsigned long long)) {
    GPUEXP_CUDA(
        cudaMemset(flush_buffer_.get(), 0, static_cast<std::size_t>(flush_buffer_.bytes())));
    GPUEXP_CUDA(cudaDeviceSynchronize());
  }

  void set_up(const Family& family, const void* problem, std::uint64_t seed) override {
    release();
    family_ = &family;
    problem_ = problem;
    seed_ = seed;
    std::vector<void*> pointers;
    for (const Buffer& b : family.buffers) {
      const std::int64_t bytes =
          b.count(problem) * static_cast<std::int64_t>(size_of(b.type(problem)));
      buffers_.emplace_back(bytes);
      buffers_.back().set_guards(stream_);
      pointers.push_back(buffers_.back().data());
    }
    data_ = family.make_data(pointers);
    make_inputs();
    fingerprints_ = fingerprints();
  }

  void poison(const Variant& variant) override {
    compute_references(written_by(variant));
    for (const std::size_t i : written_by(variant)) {
      GPUEXP_CUDA(cudaMemsetAsync(buffers_[i].data(), kPoison,
                                  static_cast<std::size_t>(buffers_[i].bytes()), stream_.get()));
    }
    stream_.synchronize();
  }

  Verification check(const Variant& variant) override {
    Verification result;
    compare_outputs(variant, result);
    check_guards(result);
    check_inputs(result);
    return result;
  }

  void warm_up(const Variant& variant, Mode mode, int launches) override {
    for (int i = 0; i < launches; ++i)
      launch(variant, mode);
    stream_.synchronize();
  }

  double sample_us(const Variant& variant, Mode mode) override {
    prepare_launch(variant, mode);
    queue_delay(kQueueingDelayUs, stream_.get());
    start_.record(stream_);
    launch_variant(variant);
    stop_.record(stream_);
    stop_.synchronize();
    return elapsed_us(start_, stop_);
  }

  void launch(const Variant& variant, Mode mode) override {
    prepare_launch(variant, mode);
    launch_variant(variant);
    stream_.synchronize();
  }

  MetricValues measured_metrics(const Variant& variant) override {
    if (!variant.measured_metrics) return {};
    select(variant);
    return variant.measured_metrics(problem_, data_.get(), context());
  }

  std::int64_t flush_bytes() const override { return flush_buffer_.bytes(); }
  void start_profiler() override { GPUEXP_CUDA(cudaProfilerStart()); }
  // Whether or not the device is still there: what was profiled before a fault is worth having.
  void stop_profiler() override { GPUEXP_CUDA_NOEXCEPT(cudaProfilerStop()); }

 private:
  void release() {
    prepared_variant_ = nullptr;
    data_.reset();
    referenced_.clear();
    references_.clear();
    accuracy_references_.clear();
    buffers_.clear();
    workspace_ = DeviceMemory();
  }

  void make_inputs() {
    family_->prepare(problem_, data_.get(), seed_, stream_.get());
    stream_.synchronize();
  }

  /// Indices of the buffers that the variant fills.
  std::vector<std::size_t> written_by(const Variant& variant) const {
    std::vector<std::size_t> written;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& b = family_->buffers[i];
      if (b.role == BufferRole::output && variant.fills(b.name)) written.push_back(i);
    }
    return written;
  }

  // One set of outputs at a time: the fp64 references of a family whose variants differ in what
  // they store would otherwise take several times the memory of its buffers.
  void compute_references(const std::vector<std::size_t>& outputs) {
    if (outputs == referenced_) return;
    referenced_.clear();
    references_.clear();
    accuracy_references_.clear();
    references_ = evaluate(outputs, family_->reference);
    if (family_->accuracy_reference) {
      accuracy_references_ = evaluate(outputs, family_->accuracy_reference);
    }
    stream_.synchronize();
    referenced_ = outputs;
  }

  template <class Function>
  References evaluate(const std::vector<std::size_t>& outputs, const Function& reference) {
    References references;
    std::vector<ReferenceView> views;
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const Buffer& b = family_->buffers[i];
      if (b.role != BufferRole::output) continue;
      const bool asked = std::find(outputs.begin(), outputs.end(), i) != outputs.end();
      views.push_back(asked ? references.try_emplace(i, b.count(problem_)).first->second.view()
                            : ReferenceView{});
    }
    reference(problem_, data_.get(), views, stream_.get());
    return references;
  }

  // Shapes and workspace are the variant's own and are looked up once, not between the events.
  void select(const Variant& variant) {
    if (prepared_variant_ == &variant) return;
    shapes_ = variant.shapes ? variant.shapes(problem_, device_) : std::vector<Shape>{};
    const std::int64_t bytes =
        variant.workspace_bytes ? variant.workspace_bytes(problem_, device_) : 0;
    workspace_ = DeviceMemory(bytes);
    prepared_variant_ = &variant;
  }

  void prepare_launch(const Variant& variant, Mode mode) {
    select(variant);
    if (family_->reset) family_->reset(problem_, data_.get(), stream_.get());
    if (mode == Mode::cold) {
      GPUEXP_CUDA(cudaCtxResetPersistingL2Cache());
      queue_cache_flush(flush_buffer_.get(), flush_buffer_.bytes(), sink_.as<unsigned>(),
                        stream_.get());
    }
  }

  void launch_variant(const Variant& variant) { variant.launch(problem_, data_.get(), context()); }

  LaunchContext context() const {
    return {shapes_, stream_.get(), workspace_.get(), device_index_};
  }

  void compare_outputs(const Variant& variant, Verification& result) {
    for (const std::size_t i : written_by(variant)) {
      const Buffer& buffer = family_->buffers[i];
      const Tolerance tolerance =
          buffer.tolerance ? buffer.tolerance(problem_) : family_->tolerance(problem_);
      const Reference& reference = references_.at(i);
      const auto accurate = accuracy_references_.find(i);
      Comparison comparison;
      comparison.got = buffers_[i].data();
      comparison.type = buffer.type(problem_);
      comparison.count = buffer.count(problem_);
      comparison.value = reference.value.as<double>();
      comparison.magnitude = reference.magnitude.as<double>();
      comparison.accurate = accurate == accuracy_references_.end()
                                ? comparison.value
                                : accurate->second.value.as<double>();
      comparison.relative = tolerance.relative;
      comparison.absolute = tolerance.absolute;
      if (comparison.count > 0) merge(buffer.name, comparison, compare(comparison), result);
    }
  }

  ComparisonSums compare(const Comparison& comparison) {
    ComparisonSums sums{};
    sums.first_wrong = ~0ull;
    GPUEXP_CUDA(
        cudaMemcpyAsync(sums_.get(), &sums, sizeof sums, cudaMemcpyHostToDevice, stream_.get()));
    queue_comparison(comparison, sums_.as<ComparisonSums>(), stream_.get());
    GPUEXP_CUDA(
        cudaMemcpyAsync(&sums, sums_.get(), sizeof sums, cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    return sums;
  }

  void merge(const std::string& buffer, const Comparison& c, const ComparisonSums& sums,
             Verification& result) {
    result.checked += c.count;
    result.wrong += static_cast<std::int64_t>(sums.wrong);
    result.worst_over_allowed =
        std::max(result.worst_over_allowed, std::bit_cast<double>(sums.worst_ratio));
    const double rms = std::sqrt(sums.reference_squares / static_cast<double>(c.count));
    if (rms > 0) {
      const double error_rms = std::sqrt(sums.error_squares / static_cast<double>(c.count));
      result.error_rms_rel = std::max(result.error_rms_rel, error_rms / rms);
      result.error_max_rel =
          std::max(result.error_max_rel, std::bit_cast<double>(sums.worst_error) / rms);
    }
    if (sums.wrong > 0 && !result.first) result.first = mismatch_at(buffer, c, sums.first_wrong);
  }

  Mismatch mismatch_at(const std::string& buffer, const Comparison& c, unsigned long long index) {
    const auto read = [&](const double* d_array) {
      double x = 0;
      GPUEXP_CUDA(cudaMemcpy(&x, d_array + index, sizeof x, cudaMemcpyDeviceToHost));
      return x;
    };
    Mismatch m;
    m.buffer = buffer;
    m.index = static_cast<std::int64_t>(index);
    m.expected = read(c.value);
    m.allowed = c.absolute + c.relative * read(c.magnitude);
    m.got = element(c, index);
    return m;
  }

  double element(const Comparison& c, unsigned long long index) {
    const std::size_t size = size_of(c.type);
    std::vector<unsigned char> bytes(size);
    GPUEXP_CUDA(cudaMemcpy(bytes.data(), static_cast<const unsigned char*>(c.got) + index * size,
                           size, cudaMemcpyDeviceToHost));
    return to_double(bytes.data(), c.type);
  }

  void check_guards(Verification& result) {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const unsigned long long changed = counted(
          [&](unsigned long long* d_changed) { buffers_[i].queue_check(d_changed, stream_); });
      if (changed == 0) continue;
      if (result.overrun.empty()) result.overrun = family_->buffers[i].name;
      buffers_[i].set_guards(stream_);
    }
  }

  /// What device operations that count or sum leave in scratch_.
  template <class Queue>
  unsigned long long counted(const Queue& queue) {
    unsigned long long count = 0;
    GPUEXP_CUDA(cudaMemsetAsync(scratch_.get(), 0, sizeof count, stream_.get()));
    queue(scratch_.as<unsigned long long>());
    GPUEXP_CUDA(cudaMemcpyAsync(&count, scratch_.get(), sizeof count, cudaMemcpyDeviceToHost,
                                stream_.get()));
    stream_.synchronize();
    return count;
  }

  /// One number per buffer that tells the contents of an input; 0 for outputs.
  std::vector<unsigned long long> fingerprints() {
    std::vector<unsigned long long> of_buffers(buffers_.size(), 0);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (family_->buffers[i].role != BufferRole::input) continue;
      of_buffers[i] = counted([&](unsigned long long* d_sum) {
        queue_fingerprint(buffers_[i].data(), buffers_[i].bytes(), d_sum, stream_.get());
      });
    }
    return of_buffers;
  }

  // A reference is computed from the inputs: one that a variant wrote into would make a wrong
  // result look right.
  void check_inputs(Verification& result) {
    const std::vector<unsigned long long> now = fingerprints();
    const auto [was, is] = std::mismatch(fingerprints_.begin(), fingerprints_.end(), now.begin());
    if (was == fingerprints_.end()) return;
    result.changed_input =
        family_->buffers[static_cast<std::size_t>(was - fingerprints_.begin())].name;
    make_inputs();
  }

  int device_index_;
  DeviceSpec device_;
  CudaStream stream_;
  CudaEvent start_;
  CudaEvent stop_;
  DeviceMemory flush_buffer_;
  DeviceMemory sink_;
  DeviceMemory sums_;
  DeviceMemory scratch_;

  const Family* family_ = nullptr;
  const void* problem_ = nullptr;
  std::uint64_t seed_ = 0;
  std::shared_ptr<const void> data_;
  std::vector<GuardedMemory> buffers_;
  std::vector<unsigned long long> fingerprints_;  ///< of the inputs as they were made
  std::vector<std::size_t> referenced_;           ///< outputs that the references below are of
  References references_;
  References accuracy_references_;  ///< of unrounded inputs; empty where the family has none

  const Variant* prepared_variant_ = nullptr;
  std::vector<Shape> shapes_;
  DeviceMemory workspace_;
};

}  // namespace

std::unique_ptr<Executor> make_cuda_executor(int device_index, const DeviceSpec& device) {
  GPUEXP_CUDA(cudaSetDevice(device_index));
  return std::make_unique<CudaExecutor>(device_index, device);
}

}  // namespace gpuexp
