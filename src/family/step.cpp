#include "family/step.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace gpuexp {

void PackedArguments::reserve(std::size_t arguments, std::size_t bytes) {
  bytes_.reserve(bytes);
  places_.reserve(arguments);
}

void PackedArguments::append(const void* value, std::size_t bytes, std::size_t alignment) {
  const std::size_t offset = (bytes_.size() + alignment - 1) / alignment * alignment;
  bytes_.resize(offset + bytes);
  std::memcpy(bytes_.data() + offset, value, bytes);
  places_.push_back({offset, bytes, alignment});
}

void PackedArguments::add(TensorMap map, std::size_t alignment) {
  constexpr std::byte kUnencoded[kTensorMapBytes] = {};
  tensor_maps_.emplace_back(count(), std::move(map));
  append(kUnencoded, kTensorMapBytes, alignment);
}

const TensorMap* PackedArguments::tensor_map(std::size_t i) const {
  for (const auto& [place, map] : tensor_maps_) {
    if (place == i) return &map;
  }
  return nullptr;
}

void PackedArguments::add(const Texture& texture) {
  constexpr std::byte kNotCreated[kTextureObjectBytes] = {};
  textures_.emplace_back(count(), texture);
  append(kNotCreated, kTextureObjectBytes, kTextureObjectBytes);
}

const Texture* PackedArguments::texture(std::size_t i) const {
  for (const auto& [place, texture] : textures_) {
    if (place == i) return &texture;
  }
  return nullptr;
}

Step::Step(KernelStep step) : action(std::move(step)) {}
Step::Step(MemsetStep step) : action(step) {}
Step::Step(CopyStep step) : action(std::move(step)) {}
Step::Step(OpaqueStep step) : action(std::move(step)) {}
Step::Step(PrefetchStep step) : action(step) {}
Step::Step(AdviseStep step) : action(step) {}
Step::Step(HostReadStep step) : action(step) {}
Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

Steps::Steps() = default;
Steps::Steps(Step step) {
  steps_.push_back(std::move(step));
}
Steps::Steps(const Steps&) = default;
Steps::Steps(Steps&&) noexcept = default;
Steps& Steps::operator=(const Steps&) = default;
Steps& Steps::operator=(Steps&&) noexcept = default;
Steps::~Steps() = default;

Steps& Steps::operator+=(Steps next) {
  const std::size_t before = steps_.size();
  for (Step& step : next.steps_) {
    for (std::size_t& place : step.after)
      place += before;
    add(std::move(step));
  }
  return *this;
}

// An executor would not wait for a step that comes later.
std::size_t Steps::add(Step step) {
  for (const std::size_t place : step.after) {
    if (place >= steps_.size()) {
      throw std::logic_error("step " + std::to_string(steps_.size()) + " waits for step " +
                             std::to_string(place) + ", which is not before it");
    }
  }
  steps_.push_back(std::move(step));
  return steps_.size() - 1;
}

std::vector<Shape> Steps::shapes() const {
  std::vector<Shape> shapes;
  for (const Step& step : steps_) {
    if (const auto* kernel = std::get_if<KernelStep>(&step.action)) shapes.push_back(kernel->shape);
  }
  return shapes;
}

bool Steps::overlap() const {
  return std::any_of(steps_.begin(), steps_.end(),
                     [&](const Step& step) { return step.stream != steps_.front().stream; });
}

Steps with_host_loop(Steps kernel, HostLoop loop) {
  std::get<KernelStep>(kernel.all().front().action).on_host = std::move(loop);
  return kernel;
}

Shape grid_stride(std::int64_t items, std::int64_t max_blocks) {
  constexpr std::int64_t kBlock = 256;
  Shape shape;
  shape.block.x = kBlock;
  shape.grid.x = std::min(ceil_div(items, kBlock), max_blocks);
  return shape;
}

}  // namespace gpuexp
