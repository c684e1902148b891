// What tests that execute families on the CPU share.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "device/device_spec_file.hpp"
#include "family/registry.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::test {

inline const DeviceSpec& device() {
  static const DeviceSpec spec =
      read_device_spec(std::string(GPUEXP_SOURCE_DIR) + "/configs/devices/h200.json").spec;
  return spec;
}

inline const KernelResources& kernels() {
  static const KernelResources resources = [] {
    std::size_t count = 0;
    const KernelResource* table = kernel_resource_table(count);
    return KernelResources(table, count);
  }();
  return resources;
}

/// Memory for the buffers of one problem, all bits set before a launch as on a GPU.
class Buffers {
 public:
  Buffers(const Family& family, const void* problem, sim::GlobalMemory& memory)
      : family_(family), problem_(problem), memory_(memory) {
    for (const Buffer& b : family.buffers) {
      const auto bytes = static_cast<std::size_t>(b.count(problem)) * size_of(b.type(problem));
      pointers_.push_back(allocate(bytes, b.name));
      bytes_.push_back(bytes);
    }
  }

  void* allocate(std::size_t bytes, const std::string& name) {
    constexpr std::size_t kAlignment = 256;
    std::vector<std::byte>& space = space_.emplace_back(bytes + kAlignment, kPoison);
    void* begin = space.data();
    std::size_t room = space.size();
    std::align(kAlignment, bytes, begin, room);
    memory_.add(begin, bytes, name, sim::Contents::poison);
    return begin;
  }

  void poison(const Variant& variant) {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      const Buffer& b = family_.buffers[i];
      if (!is_output(b.role) || !variant.fills(b.name)) continue;
      std::memset(pointers_[i], static_cast<int>(kPoison), bytes_[i]);
      memory_.poison(pointers_[i], bytes_[i]);
    }
  }

  const std::vector<void*>& pointers() const { return pointers_; }

 private:
  static constexpr std::byte kPoison{0xff};

  const Family& family_;
  const void* problem_;
  sim::GlobalMemory& memory_;
  std::vector<std::vector<std::byte>> space_;
  std::vector<void*> pointers_;
  std::vector<std::size_t> bytes_;
};

inline void execute(const Family& family, const Variant& variant, const void* problem,
                    const void* data, Buffers& buffers, sim::Simulator& simulator) {
  buffers.poison(variant);
  if (family.reset) simulator.run(family.reset(problem, data));
  void* workspace = nullptr;
  if (variant.workspace_bytes)
    workspace = buffers.allocate(
        static_cast<std::size_t>(variant.workspace_bytes(problem, device())), "workspace");
  simulator.run(variant.launch(problem, data, {device(), workspace}));
}

}  // namespace gpuexp::test
