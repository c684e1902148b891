#include "gpu/launcher.hpp"

#include <cmath>
#include <vector>

#include "gpu/cuda_graph.hpp"
#include "gpu/device_query.hpp"
#include "gpu/launcher_steps.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

int value_at(const void* d_value) {
  int value = 0;
  GPUEXP_CUDA(cudaMemcpy(&value, d_value, sizeof value, cudaMemcpyDeviceToHost));
  return value;
}

struct Places {
  Places() { GPUEXP_CUDA(cudaMemset(memory.get(), 0, static_cast<std::size_t>(memory.bytes()))); }
  int* at(int i) const { return memory.as<int>() + i; }
  DeviceMemory memory{1024};
  CudaStream stream;
};

TEST_CASE("steps run in order, and those of other streams after their dependencies", "[launcher]") {
  const Places places;
  const auto expect = [&](const Steps& steps) {
    enqueue(steps, places.stream);
    places.stream.synchronize();
  };
  SECTION("a step waits for one on another stream") {
    expect(slow_then_waiting(places.at(0), places.at(1)));
    CHECK(value_at(places.at(0)) == 5);
    CHECK(value_at(places.at(1)) == 7);
  }
  SECTION("the next launch waits for all streams") {
    expect(slow_on_other_stream(places.at(0)) +
           Steps(CopyStep{places.at(1), places.at(0), sizeof(int)}));
    CHECK(value_at(places.at(0)) == 7);
    CHECK(value_at(places.at(1)) == 0);  // no dependency within the launch: the copy ran first
    expect(CopyStep{places.at(1), places.at(0), sizeof(int)});
    CHECK(value_at(places.at(1)) == 7);
  }
  SECTION("fills and copies") {
    expect(Steps(MemsetStep{places.at(0), 1, sizeof(int)}) +
           Steps(CopyStep{places.at(1), places.at(0), sizeof(int)}));
    CHECK(value_at(places.at(1)) == 0x01010101);
  }
  SECTION("every attribute") {
    expect(with_every_attribute(places.at(0), places.memory.get(), places.memory.bytes()));
    CHECK(value_at(places.at(0)) == 5);
  }
  SECTION("an empty grid is not launched") {
    expect(over_nothing(places.at(0)));
    CHECK(value_at(places.at(0)) == 0);
  }
}

/// A tensor of 40 × 10 floats; element (x, y) is 100 y + x.
class Tensor {
 public:
  static constexpr int kWidth = 40;
  static constexpr int kHeight = 10;

  Tensor() {
    std::vector<float> values;
    for (int i = 0; i < kWidth * kHeight; ++i)
      values.push_back(value(i % kWidth, i / kWidth));
    GPUEXP_CUDA(cudaMemcpy(memory_.get(), values.data(), values.size() * sizeof(float),
                           cudaMemcpyHostToDevice));
    map.base = memory_.get();
    map.extents = {kWidth, kHeight};
    map.strides = {kWidth * sizeof(float)};
    map.box = {32, 8};
  }
  static float value(int x, int y) { return static_cast<float>(100 * y + x); }

  /// The box at (x, y) in shared memory layout.
  std::vector<float> box_at(int x, int y) const {
    const CudaStream stream;
    const DeviceMemory to(32 * 8 * sizeof(float));
    enqueue(read_box(to.as<float>(), map, x, y), stream);
    stream.synchronize();
    std::vector<float> box(32 * 8);
    GPUEXP_CUDA(
        cudaMemcpy(box.data(), to.get(), box.size() * sizeof(float), cudaMemcpyDeviceToHost));
    return box;
  }

  TensorMap map;

 private:
  DeviceMemory memory_{kWidth * kHeight * sizeof(float)};
};

bool has_tensor_maps() {
  return query_device(0, {}).spec.compute_capability() >= 90;
}

TEST_CASE("a tensor map reads boxes and fills elements outside of the tensor", "[launcher]") {
  if (!has_tensor_maps()) return skip(Tier::hardware, "needs compute capability 9.0");
  Tensor tensor;
  const bool fills_with_nan = GENERATE(false, true);
  tensor.map.fill = fills_with_nan ? OutOfBoundsFill::nan : OutOfBoundsFill::zero;
  const std::vector<float> box = tensor.box_at(16, 4);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 32; ++x) {
      const float got = box[static_cast<std::size_t>(32 * y + x)];
      INFO(x << ", " << y);
      if (16 + x < Tensor::kWidth && 4 + y < Tensor::kHeight) {
        CHECK(got == Tensor::value(16 + x, 4 + y));
      } else if (fills_with_nan) {
        CHECK(std::isnan(got));
      } else {
        CHECK(got == 0);
      }
    }
  }
}

// CUDA C++ Programming Guide, "Swizzle modes": within 1024 bytes, the index of a 16-byte group is
// XORed with the index of its 128-byte row.
TEST_CASE("a tensor map swizzles data in shared memory", "[launcher]") {
  if (!has_tensor_maps()) return skip(Tier::hardware, "needs compute capability 9.0");
  Tensor tensor;
  tensor.map.swizzle = Swizzle::bytes_128;
  const std::vector<float> box = tensor.box_at(0, 0);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 32; ++x) {
      const int group = (x / 4) ^ y;
      INFO(x << ", " << y);
      CHECK(box[static_cast<std::size_t>(32 * y + 4 * group + x % 4)] == Tensor::value(x, y));
    }
  }
}

TEST_CASE("a refused tensor map is described completely", "[launcher]") {
  if (!has_tensor_maps()) return skip(Tier::hardware, "needs compute capability 9.0");
  Tensor tensor;
  const auto refusal = [&] {
    const CudaStream stream;
    try {
      enqueue(read_box(nullptr, tensor.map, 0, 0), stream);
    } catch (const DeviceError& error) {
      CHECK(error.fault() == DeviceFault::refused);
      return std::string(error.what());
    }
    return std::string("none");
  };
  SECTION("a stride that is not a multiple of 16 bytes") {
    tensor.map.strides = {164};
    CHECK_THAT(refusal(), contains_text("extents 40 x 10, strides 164 B, box 32 x 8"));
  }
  SECTION("a box wider than the swizzle") {
    tensor.map.swizzle = Swizzle::bytes_64;
    CHECK_THAT(refusal(), contains_text("swizzle 64 B"));
  }
  SECTION("a missing stride") {
    tensor.map.strides.clear();
    CHECK_THAT(refusal(), contains_text("expected one stride fewer than extents"));
  }
}

TEST_CASE("steps on several streams are captured into a graph and replayed", "[launcher]") {
  const Places places;
  const PreparedSteps prepared(slow_then_waiting(places.at(0), places.at(1)), places.stream);
  const CapturedLaunches graph(places.stream, [&] { prepared.enqueue(); });
  CHECK(value_at(places.at(1)) == 0);
  graph.replay(places.stream);
  places.stream.synchronize();
  CHECK(value_at(places.at(1)) == 7);
}

TEST_CASE("a submitted graph of steps runs once per enqueue", "[launcher]") {
  const auto submission = GENERATE(Submission::graph, Submission::updated_graph);
  const Places places;
  const PreparedSteps prepared(slow_then_waiting(places.at(0), places.at(1)), places.stream,
                               submission);
  CHECK(value_at(places.at(1)) == 0);
  for (int i = 0; i < 2; ++i) {
    GPUEXP_CUDA(
        cudaMemset(places.memory.get(), 0, static_cast<std::size_t>(places.memory.bytes())));
    prepared.enqueue();
    places.stream.synchronize();
    CHECK(value_at(places.at(1)) == 7);
  }
}

TEST_CASE("a host read waits for the writes to its memory", "[launcher]") {
  const Places places;
  int* managed = nullptr;
  GPUEXP_CUDA(cudaMallocManaged(reinterpret_cast<void**>(&managed), sizeof *managed));
  *managed = 0;
  // The slow step runs on another stream, which the first stream waits for.
  const PreparedSteps slow(slow_on_other_stream(managed), places.stream);
  slow.enqueue();
  enqueue(HostReadStep{managed, sizeof *managed}, places.stream);
  CHECK(*managed == 7);
  enqueue(Steps(PrefetchStep{managed, sizeof *managed}) +
              AdviseStep{managed, sizeof *managed, Advice::stays_on_host} +
              PrefetchStep{managed, sizeof *managed, true} +
              AdviseStep{managed, sizeof *managed, Advice::is_mostly_read} +
              AdviseStep{managed, sizeof *managed} + HostReadStep{managed, sizeof *managed},
          places.stream);
  CHECK(*managed == 7);
  GPUEXP_CUDA(cudaFree(managed));
}

TEST_CASE("a timeline reports the times of steps in dependency order", "[launcher]") {
  const Places places;
  const PreparedSteps prepared(slow_then_waiting(places.at(0), places.at(1)), places.stream);
  CHECK(prepared.overlap());
  const std::vector<StepTime> times = prepared.timeline();
  REQUIRE(times.size() == 2);
  for (const StepTime& step : times) {
    CHECK(step.what == "kernel");
    CHECK(step.begin_us <= step.end_us);
  }
  CHECK(times[0].stream != times[1].stream);
  CHECK(times[0].end_us <= times[1].begin_us);
  CHECK(value_at(places.at(1)) == 7);
}

TEST_CASE("the legacy default stream synchronizes with blocking streams", "[launcher]") {
  const Places places;
  Steps steps =
      slow_on_other_stream(places.at(0)) + Steps(CopyStep{places.at(1), places.at(0), sizeof(int)});
  steps.all()[0].stream = kFirstBlockingStream;
  SECTION("a copy on the default stream waits") {
    steps.all()[1].stream = kDefaultStream;
    enqueue(steps, places.stream);
    places.stream.synchronize();
    CHECK(value_at(places.at(1)) == 7);
  }
  SECTION("a copy on another blocking stream does not wait") {
    steps.all()[1].stream = kFirstBlockingStream - 1;
    enqueue(steps, places.stream);
    places.stream.synchronize();
    CHECK(value_at(places.at(1)) == 0);
  }
}

TEST_CASE("prepared steps can be enqueued repeatedly, even after a move", "[launcher]") {
  const Places places;
  PreparedSteps prepared(with_every_attribute(places.at(0), places.memory.get(), 512),
                         places.stream);
  const PreparedSteps moved = std::move(prepared);
  moved.enqueue();
  moved.enqueue();
  places.stream.synchronize();
  CHECK(value_at(places.at(0)) == 10);
}

}  // namespace
}  // namespace gpuexp::test
