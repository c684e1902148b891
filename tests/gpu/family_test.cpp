// Every variant of every family on small awkward problems: the device reference is compared with
// host loops, then each variant with the reference. Run one family with `-c <family>`.
#include <cmath>
#include <cstring>

#include <cuda_runtime_api.h>

#include "family/registry.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/launcher.hpp"
#include "gpu/resources.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

const DeviceSpec& device() {
  static const DeviceSpec spec = query_device(0, {}).spec;
  return spec;
}

/// A problem's buffers on device and host.
class Buffers {
 public:
  Buffers(const Family& family, const void* problem) {
    for (const Buffer& b : family.buffers) {
      const std::int64_t bytes =
          b.count(problem) * static_cast<std::int64_t>(size_of(b.type(problem)));
      device_.emplace_back(std::max<std::int64_t>(bytes, 1));
      host_.emplace_back(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
    }
  }

  std::vector<void*> device_pointers() {
    std::vector<void*> pointers;
    for (DeviceMemory& m : device_)
      pointers.push_back(m.get());
    return pointers;
  }

  /// Copies all buffers to the host and returns their addresses there.
  std::vector<void*> download() {
    std::vector<void*> pointers;
    for (std::size_t i = 0; i < device_.size(); ++i) {
      GPUEXP_CUDA(
          cudaMemcpy(host_[i].data(), device_[i].get(), host_[i].size(), cudaMemcpyDeviceToHost));
      pointers.push_back(host_[i].data());
    }
    return pointers;
  }

 private:
  std::vector<DeviceMemory> device_;
  std::vector<std::vector<unsigned char>> host_;
};

struct References {
  std::vector<std::vector<double>> values;
  std::vector<std::vector<double>> magnitudes;
};

std::vector<std::int64_t> output_counts(const Family& family, const void* problem) {
  std::vector<std::int64_t> counts;
  for (const Buffer& b : family.buffers) {
    if (is_output(b.role)) counts.push_back(b.count(problem));
  }
  return counts;
}

void run(const Steps& steps) {
  const CudaStream stream;
  enqueue(steps, stream);
  stream.synchronize();
}

References device_references(const Family& family, const void* problem, const void* data) {
  const auto counts = output_counts(family, problem);
  std::vector<DeviceMemory> memory;
  std::vector<ReferenceView> views;
  for (const std::int64_t count : counts) {
    for (int i = 0; i < 2; ++i)
      memory.emplace_back(count * static_cast<std::int64_t>(sizeof(double)));
    views.push_back({memory[memory.size() - 2].as<double>(), memory.back().as<double>()});
  }
  run(family.reference(problem, data, views));
  GPUEXP_CUDA(cudaDeviceSynchronize());
  References r;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto n = static_cast<std::size_t>(counts[i]);
    r.values.emplace_back(n);
    r.magnitudes.emplace_back(n);
    GPUEXP_CUDA(
        cudaMemcpy(r.values[i].data(), views[i].value, n * sizeof(double), cudaMemcpyDeviceToHost));
    GPUEXP_CUDA(cudaMemcpy(r.magnitudes[i].data(), views[i].magnitude, n * sizeof(double),
                           cudaMemcpyDeviceToHost));
  }
  return r;
}

References host_references(const Family& family, const void* problem, const void* data) {
  References r;
  std::vector<ReferenceView> views;
  for (const std::int64_t count : output_counts(family, problem)) {
    r.values.emplace_back(static_cast<std::size_t>(count), std::nan(""));
    r.magnitudes.emplace_back(static_cast<std::size_t>(count), std::nan(""));
  }
  for (std::size_t i = 0; i < r.values.size(); ++i)
    views.push_back({r.values[i].data(), r.magnitudes[i].data()});
  family.host_reference(problem, data, views);
  return r;
}

// Device and host may contract and order differently, so they differ by a few units in the last
// place of the magnitude.
void check_close(const std::vector<double>& got, const std::vector<double>& expected,
                 const std::vector<double>& magnitude) {
  constexpr double kRelative = 1e-12;
  REQUIRE(got.size() == expected.size());
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const bool right =
        got[i] == expected[i] || std::abs(got[i] - expected[i]) <=
                                     kRelative * (std::abs(magnitude[i]) + std::abs(expected[i]));
    if (!right && wrong++ == 0) {
      INFO("element " << i << ": device " << got[i] << ", host " << expected[i]);
      CHECK(right);
    }
  }
  CHECK(wrong == 0);
}

bool runs_here(const Family& family, const Variant& variant, const void* problem) {
  if (device().compute_capability() < variant.min_compute_capability) return false;
  if (family.unsupported && family.unsupported(problem, device())) return false;
  if (variant.unsupported && variant.unsupported(problem, device())) return false;
  return !(variant.unavailable && variant.unavailable());
}

/// Results of the first supported variant, for references that use results.
void make_results(const Family& family, const void* problem, const void* data) {
  if (family.reset) run(family.reset(problem, data));
  for (const Variant& variant : family.variants) {
    if (!runs_here(family, variant, problem)) continue;
    const DeviceMemory workspace(
        variant.workspace_bytes ? variant.workspace_bytes(problem, device()) : 1);
    return run(variant.launch(problem, data, {device(), workspace.get()}));
  }
}

void check_reference(const Family& family, const Values& values) {
  const auto problem = family.make_problem(values);
  if (family.unsupported && family.unsupported(problem.get(), device())) return;
  Buffers buffers(family, problem.get());
  const auto data = family.make_data(buffers.device_pointers());
  run(family.inputs(problem.get(), data.get(), 7));
  if (family.refers_to_results) make_results(family, problem.get(), data.get());
  const References on_device = device_references(family, problem.get(), data.get());
  const auto host_data = family.make_data(buffers.download());
  const References on_host = host_references(family, problem.get(), host_data.get());
  for (std::size_t i = 0; i < on_host.values.size(); ++i) {
    check_close(on_device.values[i], on_host.values[i], on_host.magnitudes[i]);
    check_close(on_device.magnitudes[i], on_host.magnitudes[i], on_host.magnitudes[i]);
  }
}

int check_variants(const Family& family, const Values& values, Executor& executor) {
  const auto problem = family.make_problem(values);
  int ran = 0;
  bool is_set_up = false;
  for (const Variant& variant : family.variants) {
    if (!runs_here(family, variant, problem.get())) continue;
    if (!is_set_up) executor.set_up(family, values, 7);
    is_set_up = true;
    INFO(family.id << "/" << variant.id << " " << describe(family, values));
    const Verification v = executor.verify(variant, Mode::warm);
    if (!v.first_wrong.empty()) {
      const Mismatch& first = v.first_wrong.front();
      INFO("first wrong: " << first.buffer << "[" << first.index << "] expected " << first.expected
                           << " got " << first.got << " allowed " << first.allowed);
      CHECK(v.wrong == 0);
    }
    CHECK(v.passed());
    CHECK(v.worst_over_allowed <= 1.0);
    ++ran;
  }
  return ran;
}

void test_family(const Family& family) {
  const auto executor = make_cuda_executor(0, device());
  int ran = 0;
  for (const Values& values : small_problems(family)) {
    INFO(describe(family, values));
    check_reference(family, values);
    ran += check_variants(family, values, *executor);
  }
  INFO("no variant of " << family.id << " ran on any small problem");
  CHECK(ran > 0);
}

TEST_CASE("every family verifies on small awkward problems", "[families]") {
  for (const Family& family : Registry::global().families()) {
    if (family.gpus) continue;  // each rank needs its own process
    DYNAMIC_SECTION(family.id) {
      test_family(family);
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
