// What a launch consists of, as data: kernels with their shapes and packed arguments, fills,
// copies, and calls of libraries. The launcher (gpu/launcher.hpp) and the executor on the CPU run
// it; variants start no kernel themselves. C++17 and free of CUDA, included by .cu files.
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

/// One kernel launch without its arguments. Host-pure: computed from the problem and the device's
/// specs, never from the device.
struct Shape {
  /// The pointer that cudaLaunchKernel takes: a host stub of this binary, or the handle of a kernel
  /// loaded at run time. It is the key into the kernel resource table, which has the kernel's
  /// module and lowered name.
  const void* kernel = nullptr;
  Extent grid;
  Extent block;
  Extent cluster;
  std::int64_t dynamic_shared_bytes = 0;
  /// Outputs that one block covers along each grid dimension; grid × tile must cover
  /// Family::outputs.
  Extent tile;
};

/// Arguments of a kernel, packed as its parameters lie in memory.
class PackedArguments {
 public:
  /// For so many arguments and bytes, which are a hint: one allocation of each kind holds them.
  void reserve(std::size_t arguments, std::size_t bytes);

  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable<T>::value,
                  "a kernel's parameters are copied byte by byte");
    static_assert(alignof(T) <= alignof(std::max_align_t),
                  "parameters start at multiples of 16 at most");
    append(&value, sizeof(T), alignof(T));
  }
  /// Whose bytes are zero until whoever launches has encoded it.
  void add(TensorMap map, std::size_t alignment);
  /// Likewise, until whoever launches has made the texture object.
  void add(const Texture& texture);

  std::size_t count() const { return places_.size(); }
  /// All of them, the first at the begin.
  const std::vector<std::byte>& bytes() const { return bytes_; }
  /// The i-th argument's first byte.
  const std::byte* at(std::size_t i) const { return bytes_.data() + places_[i].offset; }
  std::size_t size(std::size_t i) const { return places_[i].bytes; }
  std::size_t alignment(std::size_t i) const { return places_[i].alignment; }
  /// Null where the i-th argument is none.
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
  std::vector<std::pair<std::size_t, TensorMap>> tensor_maps_;  ///< by their place
  std::vector<std::pair<std::size_t, Texture>> textures_;       ///< likewise
};

template <class Parameter, class Argument>
void pack(PackedArguments& packed, Argument&& argument) {
  if constexpr (std::is_same<std::decay_t<Argument>, TensorMap>::value) {
    static_assert(
        sizeof(Parameter) == kTensorMapBytes && alignof(Parameter) >= kLeastTensorMapAlignment,
        "a tensor map stands for a parameter of type CUtensorMap");
    packed.add(std::forward<Argument>(argument), alignof(Parameter));
  } else if constexpr (std::is_same<std::decay_t<Argument>, Texture>::value) {
    static_assert(sizeof(Parameter) == kTextureObjectBytes && std::is_integral<Parameter>::value,
                  "a texture stands for a parameter of type cudaTextureObject_t");
    packed.add(argument);
  } else {
    packed.add<Parameter>(static_cast<Parameter>(std::forward<Argument>(argument)));
  }
}

/// Global memory whose accesses persist in the part of L2 that is set aside for them.
struct AccessPolicyWindow {
  const void* base = nullptr;
  std::int64_t bytes = 0;
  float hit_ratio = 1;  ///< share of the window's accesses that persist; the others stream
  /// Of L2, while launches with the window run, also where it has no bytes. A launch that asks for
  /// more than the device sets aside at most fails.
  std::int64_t set_aside_bytes = 0;
};

/// What a kernel computes whose items do not depend on each other, as a loop on the host: for
/// whoever needs some of the items alone, or has no GPU. One that fills inputs computes the same
/// bits.
struct HostLoop {
  std::int64_t items = 0;
  /// Of these items; none: no such loop. With a place, the kernel's threads then make an item each,
  /// and go on with further ones where the grid has fewer threads than there are items.
  Callback<void(std::int64_t first, std::int64_t end)> run;
  /// Where item 0 is written, and the others behind it without gaps; null: they lie elsewhere.
  void* to = nullptr;
  std::int64_t item_bytes = 0;
};

/// A kernel whose grid is empty is not launched.
struct KernelStep {
  Shape shape;
  PackedArguments arguments;
  HostLoop on_host = {};
  bool cooperative = false;  ///< all blocks are resident at once, for barriers of the grid
  /// May start before the kernel ahead of it in its stream has ended (programmatic dependent
  /// launch).
  bool programmatic = false;
  std::optional<AccessPolicyWindow> window = std::nullopt;
};

/// Sets bytes of device memory.
struct MemsetStep {
  void* to = nullptr;
  unsigned char value = 0;
  std::int64_t bytes = 0;
};

/// Copies between any two places that the device or the host can reach. Of several rows, bytes are
/// each row's, and a pitch is from the begin of one to that of the next.
struct CopyStep {
  void* to = nullptr;
  const void* from = nullptr;
  std::int64_t bytes = 0;
  std::int64_t rows = 1;
  std::int64_t to_pitch = 0;
  std::int64_t from_pitch = 0;
  std::shared_ptr<const void> owner = nullptr;  ///< of host memory that the step reads; may be null
};

/// What only a call can start, such as a library's function. An executor without CUDA cannot run
/// it.
struct OpaqueStep {
  std::string what;  ///< for people: "cuBLAS gemm"
  Callback<void(Stream stream, int device)> call;
};

/// Moves managed memory to where it will be used (CUDA Runtime API, cudaMemPrefetchAsync).
struct PrefetchStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
  bool to_host = false;  ///< to the device otherwise
};

/// Where managed memory stays as long as nobody has to move it (CUDA Runtime API, cudaMemAdvise).
enum class Advice {
  none,            ///< all advice is taken back
  stays_on_host,   ///< its preferred location is the host, and the device maps it there
  is_mostly_read,  ///< whoever reads it gets a copy of its own
};

/// Advises the driver, when it is enqueued.
struct AdviseStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
  Advice advice = Advice::none;
};

/// The host waits for all that was enqueued before in the stream, and then reads a word of each
/// page of this memory, if there is any. A launch that has one is ungated or on the host's clock.
struct HostReadStep {
  const void* memory = nullptr;
  std::int64_t bytes = 0;
};

/// CUDA's legacy default stream. It waits for all streams that block with it, and they for it (CUDA
/// C++ Programming Guide, "Default stream").
inline constexpr int kDefaultStream = -1;
/// Those from here downwards block with the legacy stream; those above it do not.
inline constexpr int kFirstBlockingStream = -2;

/// Blocks of kernels in these and those above start before blocks of others that wait for a place,
/// too (CUDA C++ Programming Guide, "Stream Priorities").
inline constexpr int kFirstPriorityStream = 1000;

struct Step {
  std::variant<KernelStep, MemsetStep, CopyStep, OpaqueStep, PrefetchStep, AdviseStep, HostReadStep>
      action;
  /// Steps of one stream run in order; 0 is the one that is timed. Below it see kDefaultStream.
  int stream = 0;
  std::vector<std::size_t> after;  ///< places of earlier steps, in other streams, that it waits for

  // Defined once, in step.cpp: every family file would compile them again.
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

/// Steps in the order in which they are enqueued. Every stream waits for what was enqueued before
/// the first of them, and what is enqueued behind the last waits for all streams.
class Steps {
 public:
  Steps();
  Steps(Step step);
  /// Of one action.
  template <class Action, class = std::enable_if_t<std::is_convertible<Action, Step>::value>>
  Steps(Action action) : Steps(Step(std::move(action))) {}
  Steps(const Steps&);
  Steps(Steps&&) noexcept;
  Steps& operator=(const Steps&);
  Steps& operator=(Steps&&) noexcept;
  ~Steps();

  /// Appends steps, whose `after` are places among themselves. Throws std::logic_error where one
  /// waits for a step that is not before it.
  Steps& operator+=(Steps next);
  /// Appends a step, whose `after` are places here, and returns its place. Throws likewise.
  std::size_t add(Step step);
  friend Steps operator+(Steps first, Steps next) {
    first += std::move(next);
    return first;
  }

  const std::vector<Step>& all() const { return steps_; }
  std::vector<Step>& all() { return steps_; }
  /// Of the kernels, in order.
  std::vector<Shape> shapes() const;
  /// Whether they take several streams, so that some of them may run at once.
  bool overlap() const;

 private:
  std::vector<Step> steps_;
};

/// Blocks of 256 threads, one thread per item, at most `most_blocks` of them: for kernels that go
/// over their items in strides of the grid. Empty without items.
Shape grid_stride(std::int64_t items, std::int64_t most_blocks);

/// Address of a kernel's host stub, as Shape::kernel wants it.
template <class... Parameters>
const void* kernel_address(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

/// A launch of `kernel` with this shape, whose own kernel need not be set. Arguments convert to the
/// kernel's parameter types as in a call.
template <class... Parameters, class... Arguments>
Steps launch(void (*kernel)(Parameters...), Shape shape, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments), "one argument per kernel parameter");
  shape.kernel = kernel_address(kernel);
  PackedArguments packed;
  constexpr std::size_t kMostPadding = alignof(std::max_align_t);
  packed.reserve(sizeof...(Parameters),
                 (std::size_t{0} + ... + (sizeof(Parameters) + kMostPadding)));
  (pack<std::remove_cv_t<Parameters>>(packed, std::forward<Arguments>(arguments)), ...);
  return Steps(KernelStep{shape, std::move(packed)});
}

/// The kernel, and what computes the same on the host.
Steps with_host_loop(Steps kernel, HostLoop loop);

}  // namespace gpuexp
