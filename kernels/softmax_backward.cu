// softmax_backward: the gradient of a softmax, dx = y·(dy - Σ y·dy), row by row.
//
// The question: what does the gradient of a softmax cost beside a pass over its operands? Each
// element needs the sum of its row's products y·dy. Read pass by pass, both operands come twice;
// held in registers, once, and what is left is two reads and a write, as an element-wise kernel
// has. Nothing is exponentiated: the forward pass's result is an operand. But there are two rows to
// hold, and a thread's registers have room for half as much of each.
#include <algorithm>

#include "kernels/common/cudnn_softmax_variant.cuh"
#include "kernels/common/row_parts.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::softmax_backward {

using Problem = RowProblem;

struct Data {
  void* y;   // the forward pass's result
  void* dy;  // its gradient
  void* dx;
  void* products;  // of `product` alone
};

constexpr int kBlock = 256;

// ---- two_pass: the sum, then the gradient
//
// A block per row adds up y·dy, and reads both once more for the results. An element per load and
// thread: global_load_sectors is that of four reads, and L2 serves the second two of them as long
// as it still has the row.

template <class T>
__global__ void __launch_bounds__(kBlock) two_pass_kernel(RowMatrix<T> m, const T* dy) {
  const BlockRow group;
  const T* y = m.in(group.row);
  dy += group.row * m.columns;
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock)
    sum += static_cast<float>(y[i]) * static_cast<float>(dy[i]);
  sum = group.all<0>(sum, Sum());
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

// `launch_of` gives the launch for y, as a RowMatrix that is written to, and dy; where it takes
// one, on that device.
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

// ---- product: the limit
//
// y·dy, element by element: the same bytes in and out, 16 at a time, and no row to wait for. Its
// time is what the gradient can reach at best.

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
// The same by aligned vectors of 16 bytes, and the elements at a row's ends one by one:
// global_load_requests falls to a quarter (bf16: an eighth) where rows have a vector for each
// thread.
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
  sum = group.template all<0>(sum, Sum());
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
// The threads of a block hold y and dy, up to 16 elements of each per thread, all of whose loads
// are in flight at once: global_load_sectors halves, to what product reads. It costs registers, and
// a row has 16384 elements at most.

template <class Group, class T, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMostRowThreads) registers_kernel(RowMatrix<T> m, const T* dy) {
  const Group group;
  const T* y = m.in(group.row);
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, kEdges> part(
      group, y, group.row < m.rows ? m.columns : 0);
  auto other = part;
  part.load(y, 0.0f);
  other.load(dy + group.row * m.columns, 0.0f);
  const float sum = group.template all<0>(part.dot(other), Sum());
  part.join(other, [&](float a, float b) { return a * (b - sum); });
  part.store(m.out(group.row));
}

// Peeled rows leave room for no more, and two rows do not either.
constexpr Edges kHalf = Edges::peeled;

template <class Group, class T>
Steps launch_held(const RowMatrix<T>& m, const T* dy, int elements, const Shape& shape) {
  return with_part<most_elements(kHalf)>(elements, edges_of(m), [&](auto count, auto edges) {
    return launch(registers_kernel<Group, T, count, edges>, shape, m, dy);
  });
}

Variant registers() {
  return held_by(variant("registers", "vectors",
                         {{"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole},
                          {"global_load_requests", Direction::decreases, 1.9, is_large_and_whole}},
                         [](auto m, auto* dy) {
                           const RowShape shape = row_shape(covered(m), kHalf);
                           return launch_held<BlockRow>(
                               m, dy, shape.elements,
                               BlockRow::shape(m.rows, m.columns, shape.threads));
                         }),
                 kMostRowThreads, kHalf);
}

// ---- warp_registers: a warp has both rows
//
// A warp per row and eight rows per block: the sum takes five shuffles, and no barrier and no
// shared memory. Rows of up to 512 elements.

Variant warp_registers() {
  return held_by(variant("warp_registers", "registers",
                         {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
                          {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
                         [](auto m, auto* dy) {
                           const RowShape shape = row_shape(covered(m), kHalf, kWarp);
                           return launch_held<WarpRow>(m, dy, shape.elements,
                                                       WarpRow::shape(m.rows, m.columns));
                         }),
                 kWarp, kHalf);
}

// ---- cluster: blocks of several SMs share both rows
//
// Two to eight blocks of 512 threads hold y and dy in their registers, as they are stored: four
// vectors of each per thread, or eight where eight blocks are not enough. They push their sums to
// each other's shared memory, so that none waits until stores are done. A row's MiB are read once,
// whatever caches hold: global_load_sectors is half of what vectors asks for, and DRAM reads as
// little. It costs registers, and that all of a cluster's blocks start at one time.

// What the group's threads hold becomes the gradient, in a row that begins at `to`.
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
  sum = group.template all<kSlot>(sum, Sum());
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
  meet(group);
  store_gradient<0>(group, of_y, of_dy, m.out(group.row));
}

Variant cluster() {
  const auto launch_of = [](auto m, auto* dy) {
    using T = typename decltype(m)::Element;
    constexpr int kFew = kPartVectors / 2;
    return m.columns * std::int64_t{sizeof(T)} <= kMostClusterBlocks * kPartBytes / 2
               ? launch(cluster_kernel<T, kFew>, stored_shape<kFew, PushedRow>(m, 2), m, dy)
               : launch(cluster_kernel<T, kPartVectors>,
                        stored_shape<kPartVectors, PushedRow>(m, 2), m, dy);
  };
  return held_in_parts(
      variant("cluster", "vectors",
              {{"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole},
               {"dram_read_bytes", Direction::decreases, 1.5, leaves_l2}},
              launch_of));
}

// ---- bulk_ring: rows arrive while others are computed
//
// Blocks, or clusters of them, stay and go from row to row, as those of softmax/bulk_ring do: the
// copy engine brings y and dy of up to three rows to shared memory while the threads work on
// another one in their registers. No lane loads from global memory: global_load_requests falls to
// none. Of 262144 elements there is room for one row beside the one in registers.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 1)
    bulk_ring_kernel(RowMatrix<T> m, const T* dy, RingRoom room) {
  extern __shared__ uint4 stages[];
  __shared__ Barrier arrivals[2 * kMostRingStages];
  const Group group;
  RowRing<T, 2> ring(group, m, {m.x, dy}, room, stages, arrivals);
  StoredRow<T, kPartVectors> of_y(BlockRow(), ring.held), of_dy(BlockRow(), ring.held);
  meet(group);
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
  return held_in_ring<2>(variant("bulk_ring", "cluster",
                                 {{"global_load_requests", Direction::decreases, 10, is_large}},
                                 launch_of));
}

// ---- cudnn: what a library makes of it
//
// cudnnSoftmaxBackward over rows of any length.

Variant library() {
  return cudnn_softmax_variant<Variant>("dx", work, [](const Problem& p, const Data& d) {
    return cudnn::SoftmaxBackward{p.dtype, p.rows, p.columns, d.y, d.dy, d.dx};
  });
}

// ---- inputs

// Of y: between 0 and two over the row's length, so that a row sums up to about 1.
template <class T>
struct Probability {
  std::uint64_t seed;
  float most;
  __host__ __device__ T operator()(std::int64_t i) const {
    return from_float<T>(most * random_unit(seed, static_cast<std::uint64_t>(i)));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const float most = 2.0f / static_cast<float>(p.columns);
  return with_row_matrix(p, nullptr, d.y, [&](auto m) {
    using T = typename decltype(m)::Element;
    return fill(m.y, elements(p), Probability<T>{stream_seed(seed, 0), most}) +
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

// The derivation that tolerance_derivation states in words.
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
           "What does the gradient of a softmax cost beside a pass over its operands?");
  f.physics =
      "dx = y·(dy - Σ y·dy) needs one sum per row before its first result. Time is bytes over "
      "bandwidth: two reads and a write where threads hold both rows in their registers, and four "
      "reads and a write where they come again, from L2 or, if rows are long, from DRAM. Short "
      "rows wait for barriers unless a warp has a row by itself.";
  declare_rows(f, {262144, "rows, each a softmax's result", 512, "elements of a row", kFp32First,
                   "type of y, dy and dx; arithmetic is in fp32"})
      .input("y", &Data::y, matrix_type, elements)
      .input("dy", &Data::dy, matrix_type, elements)
      .output("dx", &Data::dx, matrix_type, elements);
  declare_products(f, &Data::products);
  f.figure("softmax_backward", "share_of_copy",
           "The gradient of a softmax beside a product of its operands", {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 of fp32, U of the stored type. A row's sum passes each product through at most "
      "columns/32 + 13 additions of u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd "
      "ed., section 4.2), and the product's own rounding; the difference to it and the product "
      "with y are rounded, and the result to U: all relative to |y|·(|dy| + Σ|y·dy|). A product by "
      "itself is rounded twice. Below 2^-125 results may be subnormal. The RMS error is 0.42·U of "
      "the result (Knuth) and a few roundings of u; a sum of terms of either sign is small beside "
      "dy, and its error smaller. Twice that is allowed.";
  f.variants(product(), two_pass(), vectors(), registers(), warp_registers(), cluster(),
             bulk_ring(), library());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::softmax_backward
