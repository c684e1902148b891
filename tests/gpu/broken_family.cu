#undef NDEBUG  // assert is under test
#include <cassert>

#include "gpu/broken_family.hpp"
#include "gpu/resources.hpp"
#include "kernels/common/launch.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::test::broken {

struct Problem {
  std::int64_t n;
};

struct Data {
  float* x;
  float* y;
};

using FamilyType = FamilyOf<Problem, Data>;
using Variant = FamilyType::Variant;

constexpr int kBlock = 128;
constexpr std::int64_t kTile = 32;

enum class Fault {
  none,
  nan,
  unwritten_tail,
  overrun_end,
  overrun_begin,
  bad_tile,
  one_percent,
  changed_input,
  illegal_address,
  misaligned_address,
  trap,
  device_assert,
  endless
};

template <Fault fault>
__global__ void double_kernel(Problem p, const float* x, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (fault == Fault::overrun_end && i == p.n) y[i] = 0.0f;
  if (fault == Fault::overrun_begin && i == 0) y[-1] = 0.0f;
  // 2^60 bytes past y: not mapped.
  if (fault == Fault::illegal_address && i == 0) y[std::int64_t{1} << 58] = 0.0f;
  if (fault == Fault::misaligned_address && i == 0)
    *reinterpret_cast<float*>(reinterpret_cast<char*>(y) + 1) = 0.0f;
  if (fault == Fault::trap && i == 0) __trap();
  if (fault == Fault::device_assert) assert(i < 0);
  // The input holds no such value, but the compiler does not know that.
  while (fault == Fault::endless && *const_cast<const volatile float*>(x) < 2.0f) {
  }
  if (i >= p.n || (fault == Fault::unwritten_tail && i == p.n - 1)) return;
  float value = 2.0f * x[i];
  if (fault == Fault::nan && i == p.n / 2) value = nanf("");
  if (fault == Fault::bad_tile && i / kTile == 1) value = -value;
  if (fault == Fault::one_percent) value *= 1.01f;
  y[i] = value;
  if (fault == Fault::changed_input && i == p.n - 1) const_cast<float*>(x)[i] = -x[i];
}

Shape shape(const Problem& p) {
  Shape s;
  s.block = {kBlock, 1, 1};
  s.tile = s.block;
  s.grid = {p.n / kBlock + 1, 1, 1};
  return s;
}

Work work(const Problem& p) {
  Work w;
  w.bytes_read = w.moved_read = static_cast<double>(p.n) * sizeof(float);
  w.bytes_written = w.moved_written = w.bytes_read;
  return w;
}

template <Fault fault>
Variant variant(const char* id) {
  Variant v;
  v.id = id;
  v.why = "wrong on purpose";
  v.work = work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(double_kernel<fault>, shape(p), p, d.x, d.y);
  };
  return v;
}

// A launch through a host call, for faults that a kernel step cannot have.
template <class Call>
Variant calling(const char* id, Call call) {
  Variant v = variant<Fault::none>(id);
  v.launch = [call](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(OpaqueStep{"a call", [p, d, call](Stream stream, int) { call(p, d, stream); }});
  };
  return v;
}

void double_right(const Problem& p, const Data& d, Stream stream, unsigned block = kBlock) {
  double_kernel<Fault::none>
      <<<static_cast<unsigned>(shape(p).grid.x), block, 0, stream>>>(p, d.x, d.y);
  GPUEXP_CUDA(cudaGetLastError());
}

// Writes only in its first launch: passes if a benchmark does not poison outputs again.
Variant stale() {
  return calling("stale", [launches = std::make_shared<int>(0)](const Problem& p, const Data& d,
                                                                Stream stream) {
    if ((*launches)++ == 0) double_right(p, d, stream);
  });
}

// More threads than a block may have.
Variant beyond_limits() {
  return calling("beyond_limits", [](const Problem& p, const Data& d, Stream stream) {
    double_right(p, d, stream, 4096);
  });
}

// A launch that allocates more memory than any GPU has.
Variant out_of_memory() {
  return calling("out_of_memory", [](const Problem&, const Data&, Stream) {
    void* memory = nullptr;
    GPUEXP_CUDA(cudaMalloc(&memory, std::size_t{1} << 50));
  });
}

// A launch that waits for the GPU.
Variant waiting(const char* id, Timing timing) {
  Variant v = calling(id, [](const Problem& p, const Data& d, Stream stream) {
    double_right(p, d, stream);
    GPUEXP_CUDA(cudaStreamSynchronize(stream));
  });
  v.timing = timing;
  return v;
}

// A separate kernel, loaded by its first launch in a process.
template <int>
__global__ void own_kernel(Problem p, const float* x, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < p.n) y[i] = 2.0f * x[i];
}

Variant timed(const char* id, Timing timing) {
  Variant v = variant<Fault::none>(id);
  v.timing = timing;
  v.launch = [timing](const Problem& p, const Data& d, const LaunchContext&) {
    return timing == Timing::from_first ? launch(own_kernel<0>, shape(p), p, d.x, d.y)
                                        : launch(own_kernel<1>, shape(p), p, d.x, d.y);
  };
  return v;
}

// A fill, then the kernel.
Variant cleared() {
  Variant v = variant<Fault::none>("cleared");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(MemsetStep{d.y, 0, p.n * static_cast<std::int64_t>(sizeof(float))}) +
           launch(own_kernel<2>, shape(p), p, d.x, d.y);
  };
  return v;
}

struct Reference {
  Data d;
  __device__ ReferenceElement operator()(std::int64_t i) const {
    const double value = 2.0 * d.x[i];
    return {value, fabs(value)};
  }
};

FamilyType declare() {
  FamilyType f("broken", Topic::memory, "Is every wrong result rejected?");
  f.extent("n", &Problem::n, 1000, 1 << 20, "elements");
  f.input("x", &Data::x, [](const Problem& p) { return p.n; });
  f.output("y", &Data::y, [](const Problem& p) { return p.n; });
  f.outputs = [](const Problem& p) { return Extent{p.n, 1, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.x, p.n, seed);
  };
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_reference(out[0], p.n, Reference{d});
  };
  f.host_reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    for (std::int64_t i = 0; i < p.n; ++i)
      out[0].value[i] = 2.0 * d.x[i];
  };
  f.tolerance = [](const Problem&) { return Tolerance{unit_roundoff(DataType::fp32), 0.0}; };
  f.tolerance_derivation = "Doubling is exact; one roundoff is allowed.";
  f.variant(variant<Fault::none>("right"))
      .variant(variant<Fault::nan>("nan"))
      .variant(variant<Fault::unwritten_tail>("unwritten_tail"))
      .variant(variant<Fault::overrun_end>("overrun_end"))
      .variant(variant<Fault::overrun_begin>("overrun_begin"))
      .variant(stale())
      .variant(variant<Fault::bad_tile>("bad_tile"))
      .variant(variant<Fault::one_percent>("one_percent"))
      .variant(variant<Fault::changed_input>("changed_input"))
      .variant(variant<Fault::illegal_address>("illegal_address"))
      .variant(variant<Fault::misaligned_address>("misaligned_address"))
      .variant(variant<Fault::trap>("trap"))
      .variant(variant<Fault::device_assert>("device_assert"))
      .variant(variant<Fault::endless>("endless"))
      .variant(beyond_limits())
      .variant(out_of_memory())
      .variant(waiting("waits", Timing::ungated))
      .variant(waiting("waits_undeclared", Timing::gated))
      .variant(waiting("waits_on_host_clock", Timing::host_clock))
      .variant(timed("in_fresh_processes", Timing::fresh_process))
      .variant(timed("from_first", Timing::from_first))
      .variant(cleared());
  return f;
}

__global__ void past_allocation_kernel(float* end) {
  *end = 1.0f;
}

// Each thread reads a word that the other warp wrote, without a barrier.
__global__ void race_kernel(int* out) {
  __shared__ int words[2 * kTile];
  words[threadIdx.x] = static_cast<int>(threadIdx.x) + *out;
  *out = words[2 * kTile - 1 - threadIdx.x];
}

}  // namespace gpuexp::test::broken

namespace gpuexp::test {

void write_past_allocation() {
  const DeviceMemory memory(sizeof(float));
  broken::past_allocation_kernel<<<1, 1>>>(memory.as<float>() + 1);
  GPUEXP_CUDA(cudaDeviceSynchronize());
}

void race_in_shared_memory() {
  const DeviceMemory out(sizeof(int));
  GPUEXP_CUDA(cudaMemset(out.get(), 0, sizeof(int)));
  broken::race_kernel<<<1, 2 * broken::kTile>>>(out.as<int>());
  GPUEXP_CUDA(cudaDeviceSynchronize());
}

Family broken_family() {
  return broken::declare().build();
}

}  // namespace gpuexp::test
