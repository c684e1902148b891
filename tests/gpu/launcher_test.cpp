#include "gpu/launcher.hpp"

#include "gpu/cuda_graph.hpp"
#include "gpu/launcher_steps.hpp"
#include "support/catch.hpp"

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

TEST_CASE("steps run in order, and those of other streams when what they wait for is done",
          "[launcher]") {
  const Places places;
  const auto expect = [&](const Steps& steps) {
    enqueue(steps, places.stream);
    places.stream.synchronize();
  };
  SECTION("a step waits for one of another stream") {
    expect(slow_then_waiting(places.at(0), places.at(1)));
    CHECK(value_at(places.at(0)) == 5);
    CHECK(value_at(places.at(1)) == 7);
  }
  SECTION("what follows on the first stream waits for all") {
    expect(slow_on_other_stream(places.at(0)) +
           Steps(CopyStep{places.at(1), places.at(0), sizeof(int)}));
    CHECK(value_at(places.at(0)) == 7);
    CHECK(value_at(places.at(1)) == 0);  // same launch, no dependency: the copy came first
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

TEST_CASE("steps on several streams are captured into a graph and replayed", "[launcher]") {
  const Places places;
  const PreparedSteps prepared(slow_then_waiting(places.at(0), places.at(1)), places.stream);
  const CapturedLaunches graph(places.stream, [&] { prepared.enqueue(); });
  CHECK(value_at(places.at(1)) == 0);
  graph.replay(places.stream);
  places.stream.synchronize();
  CHECK(value_at(places.at(1)) == 7);
}

TEST_CASE("prepared steps are enqueued as often as one likes, also after a move", "[launcher]") {
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
