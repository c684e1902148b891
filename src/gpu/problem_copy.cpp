#include "gpu/problem_copy.hpp"

#include <algorithm>

#include "gpu/device_ops.hpp"
#include "gpu/launcher.hpp"

namespace gpuexp {

namespace {

// All bits set is NaN in every floating-point format, so an unwritten element fails verification.
constexpr unsigned char kPoison = 0xFF;

std::int64_t bytes_of(const Buffer& buffer, const void* problem) {
  return buffer.count(problem) * static_cast<std::int64_t>(size_of(buffer.type(problem)));
}

/// True if the step only moves the buffer's managed memory or advises on its location.
bool moves(const Step& step, const GuardedMemory& buffer) {
  if (const auto* const prefetch = std::get_if<PrefetchStep>(&step.action))
    return buffer.has(prefetch->memory);
  const auto* const advice = std::get_if<AdviseStep>(&step.action);
  return advice && buffer.has(advice->memory);
}

}  // namespace

ProblemCopy::ProblemCopy(const Family& family, const void* problem, std::uint64_t seed,
                         const CudaStream& stream, PeerGroup* peers)
    : family_(family),
      problem_(problem),
      seed_(seed),
      scratch_(sizeof(unsigned long long)),
      has_peers_(peers != nullptr),
      is_pulled_(family.buffers.size(), true) {
  for (const Buffer& buffer : family.buffers) {
    const GuardedMemory& memory =
        buffers_.emplace_back(bytes_of(buffer, problem), buffer.residence, peers);
    memory.set_guards(stream);
    if (buffer.role != BufferRole::state) continue;
    GPUEXP_CUDA(
        cudaMemsetAsync(memory.image(), 0, static_cast<std::size_t>(memory.bytes()), stream.get()));
  }
  bind(peers);
  make_inputs(stream);
  fingerprints_ = input_fingerprints(stream);
}

void ProblemCopy::bind(const PeerGroup* peers) {
  std::vector<std::vector<void*>> pointers(static_cast<std::size_t>(peers ? peers->ranks() : 1));
  std::vector<std::vector<void*>> images(pointers.size());
  const int own = peers ? peers->rank() : 0;
  for (int rank = 0; rank < static_cast<int>(pointers.size()); ++rank) {
    for (const GuardedMemory& memory : buffers_) {
      const auto place = static_cast<std::size_t>(rank);
      pointers[place].push_back(memory.data_of(rank));
      // An image is the buffer itself or private to this rank, so another rank's buffer has no
      // image here.
      images[place].push_back(rank == own ? memory.image() : memory.data_of(rank));
    }
  }
  data_ = family_.make_data(RankBuffers(own, std::move(pointers)));
  image_ = family_.make_data(RankBuffers(own, std::move(images)));
}

std::int64_t ProblemCopy::bytes() const {
  return buffer_bytes(family_, problem_);
}

void ProblemCopy::poison(const std::vector<std::size_t>& outputs, const CudaStream& stream) const {
  for (const std::size_t i : outputs) {
    GPUEXP_CUDA(cudaMemsetAsync(buffers_[i].image(), kPoison,
                                static_cast<std::size_t>(buffers_[i].bytes()), stream.get()));
    buffers_[i].push(stream);
  }
}

bool ProblemCopy::resets_managed_memory() const {
  return family_.reset && std::ranges::any_of(buffers_, &GuardedMemory::is_managed);
}

void ProblemCopy::reset(const PreparedSteps* launch, const CudaStream& stream) const {
  if (!family_.reset) return;
  Steps steps = family_.reset(problem_, image_.get());
  if (launch) {
    for (const GuardedMemory& buffer : buffers_) {
      if (buffer.is_managed() && !buffer.is_reached_by(*launch))
        std::erase_if(steps.all(), [&](const Step& step) { return moves(step, buffer); });
    }
  }
  enqueue(steps, stream);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (family_.buffers[i].role == BufferRole::in_out) buffers_[i].push(stream);
  }
}

void ProblemCopy::pull(const PreparedSteps& steps, const CudaStream& stream) {
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const GuardedMemory& buffer = buffers_[i];
    is_pulled_[i] = buffer.is_on_device() || has_peers_ || buffer.is_reached_by(steps);
    if (is_pulled_[i]) buffer.pull(stream);
  }
}

void ProblemCopy::pull(const CudaStream& stream) {
  is_pulled_.assign(buffers_.size(), true);
  for (const GuardedMemory& buffer : buffers_)
    buffer.pull(stream);
}

std::string ProblemCopy::overrun(const CudaStream& stream) {
  std::string first;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_pulled_[i]) continue;
    const unsigned long long changed = counted(
        stream, [&](unsigned long long* d_changed) { buffers_[i].queue_check(d_changed, stream); });
    if (changed == 0) continue;
    if (first.empty()) first = family_.buffers[i].name;
    buffers_[i].set_guards(stream);
    buffers_[i].push(stream);
  }
  return first;
}

// A variant that changed an input could make a wrong result look right, because references are
// computed from the inputs.
std::string ProblemCopy::changed_input(const CudaStream& stream) {
  const std::vector<unsigned long long> now = input_fingerprints(stream);
  const auto [was, is] = std::mismatch(fingerprints_.begin(), fingerprints_.end(), now.begin());
  if (was == fingerprints_.end()) return {};
  make_inputs(stream);
  return family_.buffers[static_cast<std::size_t>(was - fingerprints_.begin())].name;
}

void ProblemCopy::make_inputs(const CudaStream& stream) {
  enqueue(family_.inputs(problem_, image_.get(), seed_), stream);
  for (const GuardedMemory& buffer : buffers_)
    buffer.push(stream);
  stream.synchronize();
}

/// Fingerprints of the contents by buffer; 0 for outputs.
std::vector<unsigned long long> ProblemCopy::input_fingerprints(const CudaStream& stream) {
  std::vector<unsigned long long> of_buffers = fingerprints_;
  of_buffers.resize(buffers_.size(), 0);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (family_.buffers[i].role == BufferRole::input && is_pulled_[i])
      of_buffers[i] = fingerprint(i, stream);
  }
  return of_buffers;
}

std::vector<unsigned long long> ProblemCopy::output_fingerprints(const CudaStream& stream) {
  std::vector<unsigned long long> of_buffers(buffers_.size(), 0);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (family_.buffers[i].role != BufferRole::input) of_buffers[i] = fingerprint(i, stream);
  }
  return of_buffers;
}

unsigned long long ProblemCopy::fingerprint(std::size_t buffer, const CudaStream& stream) {
  return counted(stream, [&](unsigned long long* d_sum) {
    queue_fingerprint(buffers_[buffer].image(), buffers_[buffer].bytes(), d_sum, stream.get());
  });
}

/// Runs an operation that adds to scratch_, starting from 0, and returns the result.
template <class Queue>
unsigned long long ProblemCopy::counted(const CudaStream& stream, const Queue& queue) {
  unsigned long long count = 0;
  GPUEXP_CUDA(cudaMemsetAsync(scratch_.get(), 0, sizeof count, stream.get()));
  queue(scratch_.as<unsigned long long>());
  GPUEXP_CUDA(
      cudaMemcpyAsync(&count, scratch_.get(), sizeof count, cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return count;
}

std::int64_t buffer_bytes(const Family& family, const void* problem) {
  std::int64_t bytes = 0;
  for (const Buffer& buffer : family.buffers)
    bytes += bytes_of(buffer, problem);
  return bytes;
}

}  // namespace gpuexp
