// Kernels of a cubin from another compiler, in a simulator.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/simulator.hpp"
#include "compile/cubin_kernels.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {

/// Why cubins cannot be read on this machine; empty if they can.
inline std::string lacks_code_tools() {
  return missing_tool({"ptxas", "cuobjdump", "nvdisasm"});
}

class ForeignKernels {
 public:
  /// Loads the kernels of file `cubin` by their lowered names. `title` appears in messages.
  ForeignKernels(const std::string& cubin, const std::string& architecture,
                 const std::string& title, const std::vector<std::string>& names) {
    const TemporaryFolder folder;
    kernels_ =
        std::make_unique<CubinKernels>(cubin, architecture, title, ToolkitTools::found(), folder);
    for (const std::string& name : names) {
      const KernelResource* const found = kernels_->find(name);
      INFO(name);
      REQUIRE(found);
      places_[name] = table_.size();
      table_.push_back(*found);
      table_.back().host_function = found;
    }
    resources_ = KernelResources(table_.data(), table_.size());
    simulator_ = std::make_unique<sim::Simulator>(resources_, table_[0].architecture);
  }

  const KernelResource& row(const std::string& name) const { return table_[places_.at(name)]; }
  sim::Simulator& simulator() { return *simulator_; }

  template <class T>
  void add(std::vector<T>& buffer, const std::string& name,
           sim::Contents contents = sim::Contents::written) {
    simulator_->memory().add(buffer.data(), buffer.size() * sizeof(T), name, contents);
  }

 private:
  std::unique_ptr<CubinKernels> kernels_;
  std::vector<KernelResource> table_;
  std::map<std::string, std::size_t> places_;
  KernelResources resources_;
  std::unique_ptr<sim::Simulator> simulator_;
};

}  // namespace gpuexp::test
