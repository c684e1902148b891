// The steps of a launch as data: kernels with shapes and packed arguments, fills, copies, library
// calls, and accesses and advice for managed memory. Variants only describe steps; the launcher
// (gpu/launcher.hpp) and the CPU executor run them. C++17 without CUDA headers, because .cu files
// include it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/callback.hpp"
#include "base/types.hpp"
#include "family/tensor_map.hpp"
#include "family/texture.hpp"

struct CUstream_st;  // cudaStream_t without the CUDA headers

namespace gpuexp {

using Stream = CUstream_st*;

struct Shape {
  /// The pointer passed to cudaLaunchKernel: a host stub of this binary, or the handle of a
  /// kernel loaded at run time. Key of the kernel resource table.
  const void* kernel = nullptr;
  Extent grid;
  Extent block;
  Extent cluster;
  std::int64_t dynamic_shared_bytes = 0;
  /// Number of outputs per block along each grid dimension; grid × tile must cover Family::outputs.
  Extent tile;
};

/// Kernel arguments, packed in the layout of kernel parameters.
class PackedArguments {
 public:
  /// Reserves memory for this number of arguments and bytes.
  void reserve(std::size_t arguments, std::size_t bytes);

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable<T>::value,
                  "a kernel's parameters are copied byte by byte");
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "parameters are aligned to at most 16 bytes");
    append(&value, sizeof(T), alignof(T));
  }
  /// The bytes are zero until the launcher encodes the map.
  void add(TensorMap map, std::size_t alignment);
  /// The bytes are zero until the launcher creates the texture object.
  void add(const Texture& texture);

  std::size_t count() const { return places_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  const std::byte* at(std::size_t i) const { return bytes_.data() + places_[i].offset; }
  std::size_t size(std::size_t i) const { return places_[i].bytes; }
  std::size_t alignment(std::size_t i) const { return places_[i].alignment; }
  /// Null if argument i is not a tensor map or texture.
  const TensorMap* tensor_map(std::size_t i) const;
  const Texture* texture(std::size_t i) const;
  bool has_textures() const { return !textures_.empty(); }

 private:
  struct Place {
    std::size_t offset;
    std::size_t bytes;
    std::size_t alignment;
  };
  void append(const void* value, std::size_t bytes, std::size_t alignment);

  std::vector<std::byte> bytes_;
  std::vector<Place> places_;
  std::vector<std::pair<std::size_t, TensorMap>> tensor_maps_;
  std::vector<std::pair<std::size_t, Texture>> textures_;
};

template <class Parameter, class Argument>
void pack(PackedArguments& packed, Argument&& argument) {
  if constexpr (std::is_same<std::decay_t<Argument>, TensorMap>::value) {
    static_assert(
        sizeof(Parameter) == kTensorMapBytes && alignof(Parameter) >= kMinTensorMapAlignment,
        "a tensor map requires a parameter of type CUtensorMap");
    packed.add(std::forward<Argument>(argument), alignof(Parameter));
  } else if constexpr (std::is_same<std::decay_t<Argument>, Texture>::value) {
    static_assert(sizeof(Parameter) == kTextureObjectBytes && std::is_integral<Parameter>::value,
                  "a texture requires a parameter of type cudaTextureObject_t");
    packed.add(argument);
  } else {
    packed.add<Parameter>(static_cast<Parameter>(std::forward<Argument>(argument)));
  }
}

/// A window of global memory whose accesses persist in the set-aside part of L2.
struct AccessPolicyWindow {
  const void* base = nullptr;
  std::int64_t bytes = 0;
  float hit_ratio = 1;  ///< share of accesses that persist; the other accesses are streaming
  /// Bytes of L2 to set aside while launches with the window run, even if the window is empty. A
  /// launch fails if this exceeds the device's maximum.
  std::int64_t set_aside_bytes = 0;
};

/// A kernel's computation of independent items as a host loop, for executors that have no GPU or
/// need only some items. A loop that fills inputs must give bitwise-identical values.
struct HostLoop {
  std::int64_t items = 0;
  /// Computes items [first, end); empty: no host loop. If `to` is set, thread t of the kernel
  /// computes item t and the items that follow t at the grid's stride.
  Callback<void(std::int64_t first, std::int64_t end)> run;
  /// Address of item 0 if the items are contiguous; null if they are not.
  void* to = nullptr;
  std::int64_t item_bytes = 0;
};

/// A kernel launch; skipped if the grid is empty.
struct KernelStep {
  Shape shape;
  PackedArguments arguments;
  HostLoop on_host = {};
  bool cooperative = false;  ///< all blocks are resident, for grid-wide barriers
  /// Whether the kernel may start before the previous kernel of its stream has ended
  /// (programmatic dependent launch).
  bool programmatic = false;
  std::optional<AccessPolicyWindow> window = std::nullopt;
};

struct MemsetStep {
  void* to = nullptr;
  unsigned char value = 0;
  std::int64_t bytes = 0;
};

/// A copy between any memory of device and host. If rows > 1, `bytes` is the length of a row, and
/// pitches are bytes between the starts of successive rows.
struct CopyStep {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
  std::int64_t rows = 1;
  std::int64_t to_pitch = 0;
  std::int64_t from_pitch = 0;
  std::shared_ptr<const void> owner = nullptr;  ///< keeps `from` alive; may be null
};

struct OpaqueStep {
  std::string what;  ///< name for messages: "cuBLAS gemm"
  Callback<void(Stream stream, int device)> call;
};

/// Migrates managed memory (CUDA Runtime API, cudaMemPrefetchAsync).
struct PrefetchStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
  bool to_host = false;
};

/// Advice on the location of managed memory (CUDA Runtime API, cudaMemAdvise).
enum class Advice {
  none,            ///< removes all advice
  stays_on_host,   ///< preferred location is the host; the device maps the memory there
  is_mostly_read,  ///< each processor that reads the memory gets its own copy
};

struct AdviseStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
  Advice advice = Advice::none;
};

/// The host waits for all work enqueued in the stream, then reads one byte of each page of the
/// memory (none if `bytes` is 0). The launch must be ungated or timed with the host clock.
struct HostReadStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
};

/// CUDA's legacy default stream. It and blocking streams wait for each other (CUDA C++
/// Programming Guide, "Default stream").
inline constexpr int kDefaultStream = -1;
/// Streams with this number or a smaller number are blocking streams; streams 0 and above are not.
inline constexpr int kFirstBlockingStream = -2;

/// Streams with this number or a larger one have high priority: their pending blocks start before
/// the pending blocks of other streams (CUDA C++ Programming Guide, "Stream Priorities").
inline constexpr int kFirstPriorityStream = 1000;

struct Step {
  std::variant<KernelStep, MemsetStep, CopyStep, OpaqueStep, PrefetchStep, AdviseStep, HostReadStep>
      action;
  /// Steps of one stream run in order. Stream 0 is timed. For negative numbers see
  /// kDefaultStream.
  int stream = 0;
  std::vector<std::size_t> after;  ///< indices of steps in other streams for which this step waits

  // Defined in step.cpp, so that kernel files do not compile these functions.
  Step(KernelStep step);
  Step(MemsetStep step);
  Step(CopyStep step);
  Step(OpaqueStep step);
  Step(PrefetchStep step);
  Step(AdviseStep step);
  Step(HostReadStep step);
  Step(const Step&);
  Step(Step&&) noexcept;
  Step& operator=(const Step&);
  Step& operator=(Step&&) noexcept;
  ~Step();
};

/// Steps in the order of enqueueing. Each stream waits for work enqueued before the first step.
/// Work enqueued after the last step waits for all streams.
class Steps {
 public:
  Steps();
  Steps(Step step);
  template <class Action, class = std::enable_if_t<std::is_convertible<Action, Step>::value>>
  Steps(Action action) : Steps(Step(std::move(action))) {}
  Steps(const Steps&);
  Steps(Steps&&) noexcept;
  Steps& operator=(const Steps&);
  Steps& operator=(Steps&&) noexcept;
  ~Steps();

  /// Appends steps, whose `after` are indices into `next`. Throws std::logic_error if a step
  /// waits for itself or a later step.
  Steps& operator+=(Steps next);
  /// Appends a step, whose `after` are indices into this list, and returns its index. Throws like
  /// +=.
  std::size_t add(Step step);
  friend Steps operator+(Steps first, Steps next) {
    first += std::move(next);
    return first;
  }

  const std::vector<Step>& all() const { return steps_; }
  std::vector<Step>& all() { return steps_; }
  std::vector<Shape> shapes() const;
  bool overlap() const;

 private:
  std::vector<Step> steps_;
};

/// Launch shape of a kernel with a grid-stride loop: blocks of 256 threads, one thread per item,
/// at most `max_blocks` blocks. Without items, the grid is empty.
Shape grid_stride(std::int64_t items, std::int64_t max_blocks);

template <class... Parameters>
const void* kernel_address(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

/// Returns a launch of `kernel` and sets shape.kernel. Arguments convert to the kernel's
/// parameter types as in a call.
template <class... Parameters, class... Arguments>
Steps launch(void (*kernel)(Parameters...), Shape shape, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument per kernel parameter");
  shape.kernel = kernel_address(kernel);
  PackedArguments packed;
  constexpr std::size_t kMaxPadding = alignof(std::max_align_t);
  packed.reserve(sizeof...(Parameters),
                 (std::size_t{0} + ... + (sizeof(Parameters) + kMaxPadding)));
  (pack<std::remove_cv_t<Parameters>>(packed, std::forward<Arguments>(arguments)), ...);
  return Steps(KernelStep{shape, std::move(packed)});
}

Steps with_host_loop(Steps kernel, HostLoop loop);

}  // namespace gpuexp
