// Buffers in every kind of memory are allocated, guarded, restored and verified.
#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "gpu/guarded_memory.hpp"
#include "gpu/problem_launches.hpp"
#include "gpu/residence_family.hpp"
#include "plan/plan.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("buffers of every residence are allocated and verified there", "[engine][residence]") {
  const auto x = GENERATE(Residence::device, Residence::pinned, Residence::write_combined,
                          Residence::pageable, Residence::mapped, Residence::managed);
  const auto y = GENERATE(Residence::device, Residence::pinned, Residence::write_combined,
                          Residence::pageable, Residence::mapped, Residence::managed);
  CAPTURE(static_cast<int>(x), static_cast<int>(y));
  const Family family = residence_family(x, y);
  const auto executor = make_cuda_executor(0, query_device(0, {}).spec);
  executor->set_up(family, {std::int64_t{1001}}, 1);
  const auto verify = [&](const char* variant) {
    return executor->verify(*family.find(variant), Mode::warm);
  };
  CHECK(verify("copies").passed());
  if (x != Residence::pageable && y != Residence::pageable) {
    // `adds` updates z in place: without a reset, the second result would be wrong.
    CHECK(verify("adds").passed());
    CHECK(verify("adds").passed());
    executor->timer()->warm_up(*family.find("adds"), Mode::cold, {2, 1});
    CHECK(verify("adds").passed());
  }
  CHECK(verify("copies_less").wrong == 1);
  CHECK(verify("copies_beyond").overrun == "y");
  CHECK(verify("changes_x").changed_input == "x");
  CHECK(verify("copies").passed());
}

TEST_CASE("buffers are aligned", "[engine][residence]") {
  const auto residence = GENERATE(Residence::device, Residence::pinned, Residence::write_combined,
                                  Residence::pageable, Residence::mapped, Residence::managed);
  for (const std::int64_t bytes : {1, 100, 4097, (2 << 20) - 1, 5 << 20}) {
    CAPTURE(static_cast<int>(residence), bytes);
    const GuardedMemory first(bytes, residence);
    const GuardedMemory second(bytes, residence);
    for (const GuardedMemory* m : {&first, &second})
      for (const unsigned char* begin : {m->data(), m->image()})
        CHECK(reinterpret_cast<std::uintptr_t>(begin) % buffer_alignment(bytes) == 0);
  }
}

TEST_CASE("host memory is reused by the next buffer of its size", "[engine][residence]") {
  const auto residence = GENERATE(Residence::pinned, Residence::write_combined, Residence::mapped,
                                  Residence::pageable);
  CAPTURE(static_cast<int>(residence));
  constexpr std::size_t kBytes = 12345;
  const void* first = KeptHostMemory(kBytes, residence).get();
  const KeptHostMemory larger(kBytes + 1, residence);
  CHECK(larger.get() != first);
  const KeptHostMemory second(kBytes, residence);
  CHECK(second.get() == first);
  CHECK(KeptHostMemory(kBytes, residence).get() != first);  // `second` is in use
  KeptHostMemory::return_all();
  static_cast<unsigned char*>(second.get())[kBytes - 1] = 1;  // not freed
}

TEST_CASE("managed memory is restored only if a launch accesses it", "[engine][residence]") {
  Family family = residence_family(Residence::device, Residence::managed);
  constexpr std::int64_t kCount = 1001;
  const void* y = nullptr;
  family.reset = [&](const void*, const void* data) {
    y = static_cast<const void* const*>(data)[1];  // data: x, y, z
    return Steps(PrefetchStep{y, kCount * std::int64_t{sizeof(float)}, true});
  };
  const DeviceSpec device = query_device(0, {}).spec;
  const CudaStream stream;
  ProblemLaunches launches(family, {kCount}, 1, device, stream);
  const auto prefetched_to = [&](const char* variant) {
    launches.reset(*family.find(variant), Mode::warm);
    stream.synchronize();
    int location = 0;
    GPUEXP_CUDA(cudaMemRangeGetAttribute(&location, sizeof location,
                                         cudaMemRangeAttributeLastPrefetchLocation, y,
                                         kCount * sizeof(float)));
    return location;
  };
  CHECK(prefetched_to("adds") == cudaInvalidDeviceId);
  CHECK(prefetched_to("copies") == cudaCpuDeviceId);
}

}  // namespace
}  // namespace gpuexp::test
