// Families without a GPU, for tests that iterate a registry. Their kernels are host loops on host
// pointers, whose results a fake executor can verify.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "family/family_of.hpp"
#include "family/registry.hpp"

namespace gpuexp::fake {

/// One block of 256 threads per tile × tile outputs, or per `tile` outputs of a line.
inline Shape shape_of(Extent outputs, std::int64_t tile) {
  const bool is_line = outputs.y == 1;
  Shape s;
  s.block = {256, 1, 1};
  s.tile = {tile, is_line ? 1 : tile, 1};
  s.grid = {ceil_div(outputs.x, s.tile.x), ceil_div(outputs.y, s.tile.y), 1};
  return s;
}

/// A step that does `work` on the host instead of launching a kernel.
template <class Work>
Steps host_step(Work work) {
  return OpaqueStep{"a host loop", [work](Stream, int) { work(); }};
}

inline void run_on_host(const Steps& steps) {
  for (const Step& step : steps.all()) {
    if (const auto* host = std::get_if<OpaqueStep>(&step.action)) host->call(nullptr, 0);
  }
}

/// y = alpha·x over every stride-th element: an extent, an integer, a real and a choice.
namespace scale {

struct Problem {
  std::int64_t n = 0;
  std::int64_t stride = 1;
  double alpha = 2.0;
  DataType type = DataType::fp32;
};

struct Data {
  float* x;
  float* y;
};

using Typed = FamilyOf<Problem, Data>;

inline Typed::Variant variant(std::string id, std::string compare_to, std::int64_t tile) {
  Typed::Variant v;
  v.id = std::move(id);
  v.why = "A host loop that stands in for a kernel.";
  v.compare_to = std::move(compare_to);
  if (!v.compare_to.empty()) v.expected_changes = {{"l2_sectors", Direction::unchanged}};
  v.work = [](const Problem& p) {
    const double n = static_cast<double>(p.n);
    Work w;
    w.bytes_read = w.moved_read = n * sizeof(float);
    w.bytes_written = w.moved_written = n * sizeof(float);
    w.operations = {{Pipe::fp32, n}};
    return w;
  };
  v.launch = [tile](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(KernelStep{shape_of({p.n, 1, 1}, tile), {}}) + host_step([p, d] {
             for (std::int64_t i = 0; i < p.n; ++i)
               d.y[i] = static_cast<float>(p.alpha) * d.x[i * p.stride];
           });
  };
  return v;
}

inline Typed typed(std::string id, std::string question) {
  Typed f(std::move(id), Topic::memory, std::move(question));
  f.physics = "A stride of s elements uses one of s elements of every sector.";
  f.input("x", &Data::x, [](const Problem& p) {
     return p.n * p.stride;
   }).output("y", &Data::y, [](const Problem& p) { return p.n; });
  f.outputs = [](const Problem& p) { return Extent{p.n, 1, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return host_step([p, d, seed] {
      for (std::int64_t i = 0; i < p.n * p.stride; ++i)
        d.x[i] = static_cast<float>((static_cast<std::uint64_t>(i) * 7 + seed) % 101);
    });
  };
  f.host_reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    for (std::int64_t i = 0; i < p.n; ++i) {
      out[0].value[i] = p.alpha * d.x[i * p.stride];
      out[0].magnitude[i] = std::abs(out[0].value[i]);
    }
  };
  f.reference = [host = f.host_reference](const Problem& p, const Data& d,
                                          const std::vector<ReferenceView>& out) {
    return host_step([host, p, d, out] { host(p, d, out); });
  };
  f.tolerance_derivation = "The factor and the product are rounded once each.";
  f.tolerance = [](const Problem&) { return Tolerance{2 * unit_roundoff(DataType::fp32), 0.0}; };
  return f;
}

inline Family family() {
  Typed f = typed("scale", "What does a stride cost?");
  f.extent("n", &Problem::n, 1024, 1 << 20, "elements written")
      .integer("stride", &Problem::stride, 1, 1, 32, "elements", "distance of elements read")
      .real("alpha", &Problem::alpha, 2.0, -1000.0, 1000.0, "", "the factor")
      .choice("type", &Problem::type, {{"fp32", DataType::fp32}, {"tf32", DataType::tf32}},
              "type of the product");
  f.variant(variant("grid_stride", "", 256)).variant(variant("vectorized", "grid_stride", 1024));
  return f.build();
}

}  // namespace scale

/// C = A·B, with variant ids of a ladder and of a vendor library.
namespace matmul {

struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

struct Data {
  float* a;
  float* b;
  float* c;
};

using Typed = FamilyOf<Problem, Data>;

inline Typed::Variant variant(std::string id, std::string compare_to, std::int64_t tile) {
  Typed::Variant v;
  v.id = std::move(id);
  v.why = "A host loop that stands in for a kernel.";
  v.compare_to = std::move(compare_to);
  if (!v.compare_to.empty()) v.expected_changes = {{"l2_sectors", Direction::unchanged}};
  v.work = [](const Problem& p) {
    const double m = static_cast<double>(p.m);
    const double n = static_cast<double>(p.n);
    const double k = static_cast<double>(p.k);
    Work w;
    w.bytes_read = w.moved_read = (m * k + k * n) * sizeof(float);
    w.bytes_written = w.moved_written = m * n * sizeof(float);
    w.operations = {{Pipe::fp32, 2 * m * n * k}};
    return w;
  };
  v.launch = [tile](const Problem& p, const Data& d, const LaunchContext&) {
    Steps product = host_step([p, d] {
      for (std::int64_t i = 0; i < p.m * p.n; ++i) {
        float sum = 0.0f;
        for (std::int64_t k = 0; k < p.k; ++k)
          sum += d.a[i / p.n * p.k + k] * d.b[k * p.n + i % p.n];
        d.c[i] = sum;
      }
    });
    if (tile == 0) return product;  // the library's result
    return Steps(KernelStep{shape_of({p.m, p.n, 1}, tile), {}}) + product;
  };
  return v;
}

inline Family family() {
  Typed f("matmul", Topic::matrix_products, "What does each level of reuse buy?");
  f.physics = "Reuse decides.";
  f.extent("m", &Problem::m, 1024, 1 << 16, "rows of A and C")
      .extent("n", &Problem::n, 1024, 1 << 16, "columns of B and C")
      .extent("k", &Problem::k, 1024, 1 << 16, "columns of A, rows of B");
  f.input("a", &Data::a, [](const Problem& p) { return p.m * p.k; })
      .input("b", &Data::b, [](const Problem& p) { return p.k * p.n; })
      .output("c", &Data::c, [](const Problem& p) { return p.m * p.n; });
  f.outputs = [](const Problem& p) { return Extent{p.m, p.n, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return host_step([p, d, seed] {
      const auto element = [seed](std::int64_t i) {
        return static_cast<float>((static_cast<std::uint64_t>(i) * 7 + seed) % 11) - 5.0f;
      };
      for (std::int64_t i = 0; i < p.m * p.k; ++i)
        d.a[i] = element(i);
      for (std::int64_t i = 0; i < p.k * p.n; ++i)
        d.b[i] = element(i + 3);
    });
  };
  f.host_reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    for (std::int64_t i = 0; i < p.m * p.n; ++i) {
      double value = 0.0;
      double magnitude = 0.0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double term = static_cast<double>(d.a[i / p.n * p.k + k]) * d.b[k * p.n + i % p.n];
        value += term;
        magnitude += std::abs(term);
      }
      out[0].value[i] = value;
      out[0].magnitude[i] = magnitude;
    }
  };
  f.reference = [host = f.host_reference](const Problem& p, const Data& d,
                                          const std::vector<ReferenceView>& out) {
    return host_step([host, p, d, out] { host(p, d, out); });
  };
  f.tolerance_derivation = "K roundings of products and sums, each at most u.";
  f.tolerance = [](const Problem& p) {
    return Tolerance{static_cast<double>(p.k + 1) * unit_roundoff(DataType::fp32), 0.0};
  };
  f.variant(variant("naive", "", 16))
      .variant(variant("coalesced", "naive", 16))
      .variant(variant("smem_tile", "coalesced", 32))
      .variant(variant("smem_padded", "smem_tile", 32));
  Typed::Variant vendor = variant("vendor", "", 0);
  vendor.is_vendor = true;
  f.variant(std::move(vendor));
  return f.build();
}

}  // namespace matmul

/// `scale` with only the size as parameter, in large tiles.
namespace wave_quantization {

inline Family family() {
  scale::Typed f = scale::typed("wave_quantization", "What does the last wave cost?");
  f.extent("n", &scale::Problem::n, 1024, 1 << 20, "elements written");
  f.variant(scale::variant("tile_2048", "", 2048))
      .variant(scale::variant("tile_4096", "tile_2048", 4096));
  return f.build();
}

}  // namespace wave_quantization

/// Contains matmul, scale and wave_quantization.
inline const Registry& registry() {
  static const Registry kRegistry = [] {
    Registry r;
    r.add(scale::family());
    r.add(matmul::family());
    r.add(wave_quantization::family());
    return r;
  }();
  return kRegistry;
}

}  // namespace gpuexp::fake
