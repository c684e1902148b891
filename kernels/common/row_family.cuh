// What families about the rows of a matrix share: their problem, what its arrays hold, how variants
// are made that hold rows, and what is declared of them.
#pragma once

#include "kernels/common/compiled_for.cuh"
#include "kernels/common/copy_limit.cuh"
#include "kernels/common/pairwise.cuh"
#include "kernels/common/row_matrix.cuh"
#include "kernels/common/sectors.cuh"

namespace gpuexp {

/// Families that need more derive from it.
struct RowProblem {
  std::int64_t rows;
  std::int64_t columns;
  DataType dtype;  ///< fp32 or bf16, of the arrays; arithmetic is in fp32
};

inline std::int64_t elements(const RowProblem& p) {
  return p.rows * p.columns;
}
inline std::int64_t columns(const RowProblem& p) {
  return p.columns;
}
inline std::int64_t element_bytes(const RowProblem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}
inline std::int64_t matrix_bytes(const RowProblem& p) {
  return elements(p) * element_bytes(p);
}
inline DataType matrix_type(const RowProblem& p) {
  return p.dtype;
}

// Where expected changes hold.

/// Most blocks and lanes have work.
inline bool is_large(const RowProblem& p) {
  constexpr std::int64_t kManyRows = 256, kManyColumns = 256;
  return p.rows >= kManyRows && p.columns >= kManyColumns;
}
/// And rows are multiples of 16 bytes.
inline bool is_large_and_whole(const RowProblem& p) {
  return is_large(p) && edges_of(p.columns, p.dtype) == Edges::whole;
}
/// DRAM serves every pass, whatever L2 kept of the one before.
inline constexpr auto beyond_caches = at_least(matrix_bytes, 1 << 28);
/// The rows of all resident blocks are many times what L2 holds.
inline bool leaves_l2(const RowProblem& p) {
  constexpr std::int64_t kManyRows = 512, kLongRow = 1 << 19;
  return p.rows >= kManyRows && p.columns * element_bytes(p) >= kLongRow;
}

/// Of so many matrices read and written, and operations of fp32 for each element.
inline Work row_work(const RowProblem& p, int read, int written, double operations) {
  return read * reads<char>(matrix_bytes(p)) + written * writes<char>(matrix_bytes(p)) +
         computes(Pipe::fp32, operations * static_cast<double>(elements(p)));
}

/// A variant that gives equal bits, launch after launch; its work and its launch are to be added.
template <class Variant, class Expected>
Variant row_variant(std::string id, std::string compare_to, std::vector<std::string> writes,
                    Expected expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = std::move(writes);
  v.deterministic = true;
  return v;
}

/// The limit: a matrix in and as many bytes out.
template <class Problem, class Data, class WorkOf>
auto copy_variant(void* Data::*from, void* Data::*to, WorkOf work) {
  using Variant = typename FamilyOf<Problem, Data>::Variant;
  Variant v = row_variant<Variant>("copy", "", {"copied"}, ExpectedChangesOf<Problem>{});
  v.work = work;
  v.launch = [from, to](const Problem& p, const Data& d, const LaunchContext&) {
    return copy_limit(d.*from, d.*to, matrix_bytes(p), {kCopyBlockBytes / element_bytes(p), 1, 1});
  };
  return v;
}

/// The limit of what reads two matrices and writes one: their products, element by element.
template <class Problem, class Data, class WorkOf>
auto product_variant(void* Data::*a, void* Data::*b, void* Data::*to, WorkOf work) {
  using Variant = typename FamilyOf<Problem, Data>::Variant;
  Variant v = row_variant<Variant>("product", "", {"products"}, ExpectedChangesOf<Problem>{});
  v.work = work;
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext&) {
    return with_row_matrix(p, d.*a, d.*to, [&](auto m) {
      using T = typename decltype(m)::Element;
      return pairwise<Times>(m.x, static_cast<const T*>(d.*b), m.y, elements(p));
    });
  };
  return v;
}

/// The variant, for rows that so many threads can hold: whose accesses are whole whatever the row's
/// length, or peeled in any case, where `edges` says so.
template <class Variant>
Variant held_by(Variant v, std::int64_t threads, std::optional<Edges> edges = std::nullopt) {
  v.unsupported = [=](const RowProblem& p, const DeviceSpec&) {
    const Edges of_row = edges ? *edges : edges_of(p.columns, p.dtype);
    return too_long_to_hold(p.columns, p.dtype, of_row, threads);
  };
  return v;
}
/// By the blocks of a cluster.
template <class Variant>
Variant held_by_cluster(Variant v, std::optional<Edges> edges = std::nullopt) {
  return needs_capability(held_by(std::move(v), kMostClusterThreads, edges), kClustersFrom);
}

/// What a family declares of rows, columns and types, whose first one is the default.
struct RowParameters {
  std::int64_t rows;
  std::string rows_doc;
  std::int64_t columns;
  std::string columns_doc;
  std::vector<std::pair<std::string, DataType>> types;
  std::string type_doc;
};
inline const std::vector<std::pair<std::string, DataType>> kFp32First = {{"fp32", DataType::fp32},
                                                                         {"bf16", DataType::bf16}};
inline const std::vector<std::pair<std::string, DataType>> kBf16First = {{"bf16", DataType::bf16},
                                                                         {"fp32", DataType::fp32}};

constexpr std::int64_t kMostRowColumns = 1 << 18;

namespace detail {
/// As a member of the problem that derives from it.
template <class Problem, class T>
auto of_problem(T RowProblem::*member) {
  return static_cast<T Problem::*>(member);
}
}  // namespace detail

template <class Problem, class Data>
FamilyOf<Problem, Data>& declare_rows(FamilyOf<Problem, Data>& f, const RowParameters& r) {
  constexpr std::int64_t kMostRows = 1 << 24;
  f.outputs = [](const Problem& p) { return Extent{elements(p), 1, 1}; };
  return f
      .extent("rows", detail::of_problem<Problem>(&RowProblem::rows), r.rows, kMostRows, r.rows_doc)
      .extent("columns", detail::of_problem<Problem>(&RowProblem::columns), r.columns,
              kMostRowColumns, r.columns_doc)
      .choice("dtype", detail::of_problem<Problem>(&RowProblem::dtype), r.types, r.type_doc);
}

/// What `product` writes: products are rounded to fp32 and as they are stored; below 2^-125 they
/// may be subnormal.
template <class Family, class Data>
Family& declare_products(Family& f, void* Data::*member) {
  return static_cast<Family&>(
      f.output("products", member, matrix_type, elements, [](const RowProblem& p) {
        const double stored = unit_roundoff(p.dtype), fp32 = unit_roundoff(DataType::fp32);
        return Tolerance{stored + 2 * fp32, 0x1p-125, kRmsSafety * rounding_rms(p.dtype), 0.0};
      }));
}

/// What `copy` writes, which is to have the bits that it read.
template <class Family, class Data>
Family& declare_copied(Family& f, void* Data::*member) {
  return static_cast<Family&>(f.output("copied", member, matrix_type, elements,
                                       [](const RowProblem&) { return Tolerance{}; }));
}

}  // namespace gpuexp
