// softmax_backward: the gradient of a softmax, dx = y·(dy - Σ y·dy), row by row.
//
// The question: what does the gradient of a softmax cost, compared with an elementwise pass over
// its operands? The kernel computes no exponentials, because the forward pass's result is an
// operand.
#include <algorithm>

#include "kernels/common/cudnn_softmax_variant.cuh"
#include "kernels/common/row_parts.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::softmax_backward {

using Problem = RowProblem;

struct Data {
  void* y;   // result of the forward pass
  void* dy;  // gradient with respect to y
  void* dx;
  void* products;  // output of variant `product`
};

constexpr int kBlock = 256;

// ---- two_pass: the sum, then the gradient
//
// A block per row sums y·dy, and reads both operands again for the results. Each load has one
// element: global_load_sectors counts four reads, and L2 serves the second read of each operand if
// it still holds the row.

template <class T>
__global__ void __launch_bounds__(kBlock) two_pass_kernel(RowMatrix<T> m, const T* dy) {
  const BlockRow group;
  const T* y = m.in(group.row);
  dy += group.row * m.columns;
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock)
    sum += static_cast<float>(y[i]) * static_cast<float>(dy[i]);
  sum = group.all_reduce<0>(sum, Sum());
  T* dx = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    dx[i] = from_float<T>(static_cast<float>(y[i]) * (static_cast<float>(dy[i]) - sum));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return row_work(p, 2, 1, 4);
}

// `launch_of` returns the launch for a RowMatrix of y and dx, for dy, and, if it accepts one, for
// the device.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v =
      row_variant<Variant>(std::move(id), std::move(compare_to), {"dx"}, std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext& x) {
    return with_row_matrix(p, d.y, d.dx, [&](auto m) {
      using T = typename decltype(m)::Element;
      return launch_on(x.device, launch_of, m, static_cast<const T*>(d.dy));
    });
  };
  return v;
}

// ---- product: elementwise product, the lower bound
//
// The kernel computes y·dy element by element, with 16-byte accesses. It loads and stores the same
// bytes as the gradient, but no thread waits for a row. Its time is a lower bound.

Variant product() {
  return product_variant<Problem>(&Data::y, &Data::dy, &Data::products, work);
}

Variant two_pass() {
  return variant("two_pass", "product",
                 {{"global_load_sectors", Direction::increases, 1.9, is_large}},
                 [](auto m, auto* dy) { return block_per_row(two_pass_kernel, kBlock, m, dy); });
}

// ---- vectors: two passes with 16-byte accesses
//
// Threads load aligned vectors of 16 bytes, and the elements at a row's ends one by one.
// global_load_requests falls to a quarter (bf16: an eighth) if rows have a vector for each thread.
// held: global_load_requests = 1/4 × two_pass within 5 % at dtype=fp32
// held: global_load_requests = 1/8 × two_pass within 5 % at dtype=bf16

template <class T>
__global__ void __launch_bounds__(kBlock) vectors_kernel(RowMatrix<T> m, const T* dy) {
  const BlockRow group;
  const T* y = m.in(group.row);
  dy += group.row * m.columns;
  float sum = 0.0f;
  for_parts<kRowWidth<T>, 1>(group, y, m.columns, 0.0f, [&](auto& part) {
    auto other = part;
    other.load(dy, 0.0f);
    sum += part.dot(other);
  });
  sum = group.template all_reduce<0>(sum, Sum());
  for_parts<kRowWidth<T>, 1>(group, y, m.columns, 0.0f, [&](auto& part) {
    auto other = part;
    other.load(dy, 0.0f);
    part.join(other, [&](float a, float b) { return a * (b - sum); });
    part.store(m.out(group.row));
  });
}

Variant vectors() {
  return variant("vectors", "two_pass",
                 {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
                  {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
                 [](auto m, auto* dy) { return block_per_row(vectors_kernel, kBlock, m, dy); });
}

// ---- registers: both rows are read once
//
// The threads of a block hold y and dy in registers, up to 16 elements of each per thread, with all
// loads in flight at once: global_load_sectors halves, to the sectors that product reads. It costs
// registers, and limits a row to 16384 elements.

template <class Group, class T, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMaxRowThreads) registers_kernel(RowMatrix<T> m, const T* dy) {
  const Group group;
  const T* y = m.in(group.row);
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, kEdges> part(
      group, y, group.row < m.rows ? m.columns : 0);
  auto other = part;
  part.load(y, 0.0f);
  other.load(dy + group.row * m.columns, 0.0f);
  const float sum = group.template all_reduce<0>(part.dot(other), Sum());
  part.join(other, [&](float a, float b) { return a * (b - sum); });
  part.store(m.out(group.row));
}

// A thread holds elements of y and dy, so it has registers for half as many of each.
constexpr Edges kHalf = Edges::peeled;

template <class Group, class T>
Steps launch_held(const RowMatrix<T>& m, const T* dy, int elements, const Shape& shape) {
  return with_part<max_elements_per_thread(kHalf)>(
      elements, edges_of(m), [&](auto count, auto edges) {
        return launch(registers_kernel<Group, T, count, edges>, shape, m, dy);
      });
}

Variant registers() {
  return fits_registers(
      variant("registers", "vectors",
              {{"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole},
               {"global_load_requests", Direction::decreases, 1.9, is_large_and_whole}},
              [](auto m, auto* dy) {
                const RowShape shape = row_shape(covered(m), kHalf);
                return launch_held<BlockRow>(m, dy, shape.elements,
                                             BlockRow::shape(m.rows, m.columns, shape.threads));
              }),
      kMaxRowThreads, kHalf);
}

// ---- warp_registers: one warp holds both rows
//
// Each warp processes a row, and a block eight rows: the sum takes five shuffles, without barriers
// or shared memory. Rows are limited to 512 elements.

Variant warp_registers() {
  return fits_registers(
      variant("warp_registers", "registers",
              {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
               {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
              [](auto m, auto* dy) {
                const RowShape shape = row_shape(covered(m), kHalf, kWarp);
                return launch_held<WarpRow>(m, dy, shape.elements,
                                            WarpRow::shape(m.rows, m.columns));
              }),
      kWarp, kHalf);
}

// ---- cluster: a cluster of blocks per row
//
// Two to eight blocks of 512 threads hold y and dy in registers in their stored type: four vectors
// of each per thread, or eight if eight blocks are too few. The blocks push their sums to each
// other's shared memory, so no block waits until its stores are complete. Rows of up to a MiB are
// read once: global_load_sectors is half of the sectors that vectors loads, and dram_read_bytes
// decreases too. It costs registers, and all blocks of a cluster must start at the same time.

// Computes the gradient from the y and dy that the group's threads hold, and stores it at `to`.
template <int kSlot, class Group, class T, int kVectors>
__device__ __forceinline__ void store_gradient(const Group& group, StoredRow<T, kVectors>& y,
                                               StoredRow<T, kVectors>& dy, T* to) {
  constexpr int kW = kRowWidth<T>;
  float sum = 0.0f;
  y.each_with(dy, [&](int, float(&a)[kW], float(&b)[kW]) {
#pragma unroll
    for (int i = 0; i < kW; ++i)
      sum = fmaf(a[i], b[i], sum);
  });
  sum = group.template all_reduce<kSlot>(sum, Sum());
  y.each_with(dy, [&](int at, float(&a)[kW], float(&b)[kW]) {
#pragma unroll
    for (int i = 0; i < kW; ++i)
      a[i] *= b[i] - sum;
    store_floats(to + at, a);
  });
}

template <class T, int kVectors>
__global__ void __launch_bounds__(kPartThreads, kPartVectors / kVectors)
    cluster_kernel(RowMatrix<T> m, const T* dy) {
  const PushedRow group;
  StoredRow<T, kVectors> of_y(group, m.columns), of_dy(group, m.columns);
  of_y.load(m.in(group.row), 0.0f);
  of_dy.load(dy + group.row * m.columns, 0.0f);
  sync_row_group(group);
  store_gradient<0>(group, of_y, of_dy, m.out(group.row));
}

Variant cluster() {
  const auto launch_of = [](auto m, auto* dy) {
    using T = typename decltype(m)::Element;
    constexpr int kFew = kPartVectors / 2;
    return m.columns * std::int64_t{sizeof(T)} <= kMaxClusterBlocks * kPartBytes / 2
               ? launch(cluster_kernel<T, kFew>, stored_shape<kFew, PushedRow>(m, 2), m, dy)
               : launch(cluster_kernel<T, kPartVectors>,
                        stored_shape<kPartVectors, PushedRow>(m, 2), m, dy);
  };
  return fits_parts(variant("cluster", "vectors",
                            {{"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole},
                             {"dram_read_bytes", Direction::decreases, 1.5, exceeds_l2}},
                            launch_of));
}

// ---- bulk_ring: persistent blocks and asynchronous copies of rows
//
// Persistent blocks, or persistent clusters, loop over the rows, as in softmax/bulk_ring. Bulk
// copies load y and dy of up to three rows into shared memory while the threads process another row
// in registers. No lane loads from global memory: global_load_requests decreases to zero. With rows
// of 262144 elements, shared memory has room for only one row.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 1)
    bulk_ring_kernel(RowMatrix<T> m, const T* dy, RingRoom room) {
  extern __shared__ uint4 stages[];
  __shared__ Barrier arrivals[2 * kMaxRingStages];
  const Group group;
  RowRing<T, 2> ring(group, m, {m.x, dy}, room, stages, arrivals);
  StoredRow<T, kPartVectors> of_y(BlockRow(), ring.held), of_dy(BlockRow(), ring.held);
  sync_row_group(group);
  ring.for_rows([&](auto slot) {
    of_y.load(ring.arrived(0), 0.0f);
    of_dy.load(ring.arrived(1), 0.0f);
    __syncthreads();
    ring.free();
    store_gradient<slot>(group, of_y, of_dy, m.out(ring.row) + ring.first);
  });
}

Variant bulk_ring() {
  const auto launch_of = [](auto m, auto* dy, const DeviceSpec& device) {
    using T = typename decltype(m)::Element;
    return launch_ring<2>(bulk_ring_kernel<BlockRow, T>, bulk_ring_kernel<PushedRow, T>, device, m,
                          dy);
  };
  return fits_ring<2>(variant("bulk_ring", "cluster",
                              {{"global_load_requests", Direction::decreases, 10, is_large}},
                              launch_of));
}

// ---- cudnn: the cuDNN baseline
//
// cudnnSoftmaxBackward supports rows of any length.

Variant library() {
  return cudnn_softmax_variant<Variant>("dx", work, [](const Problem& p, const Data& d) {
    return cudnn::SoftmaxBackward{p.dtype, p.rows, p.columns, d.y, d.dy, d.dx};
  });
}

// ---- inputs

// Values of y: uniform between 0 and 2 / columns, so that a row sums to about 1.
template <class T>
struct Probability {
  std::uint64_t seed;
  float maximum;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(maximum * random_unit(seed, static_cast<std::uint64_t>(i)));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const float maximum = 2.0f / static_cast<float>(p.columns);
  return with_row_matrix(p, nullptr, d.y, [&](auto m) {
    using T = typename decltype(m)::Element;
    return fill(m.y, elements(p), Probability<T>{stream_seed(seed, 0), maximum}) +
           fill_uniform(static_cast<T*>(d.dy), elements(p), stream_seed(seed, 1));
  });
}

// ---- the plain reference

// Σ y·dy and Σ |y·dy| of a row.
struct Products {
  double sum;
  double magnitude;
  __host__ __device__ static Products combined(Products a, Products b) {
    return {a.sum + b.sum, a.magnitude + b.magnitude};
  }
};

template <class T>
struct Gradient {
  using Common = Products;
  const T* y;
  const T* dy;
  std::int64_t columns;
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    Products found{0.0, 0.0};
    for (std::int64_t i = row * columns + first; i < (row + 1) * columns; i += step) {
      const double term = to_double(y[i]) * to_double(dy[i]);
      found = Products::combined(found, {term, fabs(term)});
    }
    return found;
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const std::int64_t i = row * columns + column;
    const double a = to_double(y[i]), b = to_double(dy[i]);
    return {a * (b - of_row.sum), fabs(a) * (fabs(b) + of_row.magnitude)};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_row_matrix(p, d.y, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    const T* dy = static_cast<const T*>(d.dy);
    return evaluate_rows(out[0], p.rows, Gradient<T>{m.x, dy, p.columns}) +
           evaluate_reference(out[1], elements(p), ExactProduct<T>{m.x, dy});
  });
}

// Bounds derived in tolerance_derivation.
constexpr double kU = 0x1p-24;

Tolerance tolerance(const Problem& p) {
  const double computed = (static_cast<double>(row_additions(p.columns)) + 4) * kU;
  const double stored = unit_roundoff(p.dtype);
  const double rms = std::hypot(rounding_rms(p.dtype), 2 * kU);
  return {computed + stored * (1 + computed), 0x1p-125, kRmsSafety * rms, 0.0};
}

// ---- declaration

Family declare() {
  Family f("softmax_backward", Topic::patterns,
           "What does the gradient of a softmax cost, compared with a pass over its operands?");
  f.physics =
      "dx = y·(dy - Σ y·dy) needs one sum per row before its first result. Time is bytes divided "
      "by bandwidth. Threads that hold both rows in registers make two reads and a write. "
      "Otherwise, there are four reads and a write; the second reads hit L2 or, if rows are long, "
      "go to DRAM. Threads of short rows wait at barriers, unless a single warp processes a row.";
  declare_rows(f, {262144, "number of rows; each is the result of a softmax", 512,
                   "elements per row", kFp32First, "type of y, dy and dx; arithmetic is in fp32"})
      .input("y", &Data::y, matrix_type, elements)
      .input("dy", &Data::dy, matrix_type, elements)
      .output("dx", &Data::dx, matrix_type, elements);
  declare_products(f, &Data::products);
  f.plot("softmax_backward", "share_of_copy",
         "Softmax gradient: throughput relative to an elementwise product",
         {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type. In a row's sum, each product passes "
      "through at most columns/32 + 13 additions with relative error u (Higham, Accuracy and "
      "Stability of Numerical Algorithms, 2nd ed., section 4.2), after its own rounding. The "
      "difference to the sum and the product with y are rounded, and the result is rounded to U. "
      "All errors are relative to |y|·(|dy| + Σ|y·dy|). A product without a sum is rounded twice. "
      "Below 2^-125, results may be subnormal. The RMS error is 0.42·U of the result (Knuth) and a "
      "few roundings of u; a sum of terms of either sign is small compared with dy, and its error "
      "is smaller. The bounds are twice the RMS error.";
  f.variants(product(), two_pass(), vectors(), registers(), warp_registers(), cluster(),
             bulk_ring(), library());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::softmax_backward
