#include "own/buffer_contents.hpp"

#include <memory>
#include <utility>

#include "own/array_files.hpp"
#include "own/device_kernels.hpp"

namespace gpuexp::own {

namespace {

Steps copied_array(void* to, std::shared_ptr<const NpyArray> array) {
  CopyStep copy;
  copy.to = to;
  copy.from = array->bytes.data();
  copy.bytes = static_cast<std::int64_t>(array->bytes.size());
  copy.owner = std::move(array);
  return Steps(std::move(copy));
}

}  // namespace

Steps stored_contents(const Bound& bound, const OwnProblem& problem, const OwnData& data,
                      BufferRole role, std::uint64_t seed) {
  Steps steps;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (bound.buffers[i].role != role) continue;
    const std::optional<DeclaredArray>& array = bound.buffers[i].declared.array;
    steps += array ? copied_array(data.buffers[i], bound.arrays->elements(*array))
                   : fill_step(data.buffers[i], problem.count(i), fill_of(bound, i, problem, seed));
  }
  return steps;
}

}  // namespace gpuexp::own
