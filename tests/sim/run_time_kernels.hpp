// Kernels of a source file that the installed nvcc compiles during the test, executed in the
// simulator.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "compile/source_compiler.hpp"
#include "sim/simulator.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/toolkit.hpp"

namespace gpuexp::test {

/// Why this machine cannot compile; empty if it can.
inline std::string lacks_compiler() {
  return missing_tool({"nvcc", "ptxas", "cuobjdump", "nvdisasm"});
}

class RunTimeKernels {
 public:
  /// `file` is relative to the source folder.
  RunTimeKernels(const std::string& file, int compute_capability,
                 const CompileOptions& options = {})
      : path_(std::string(GPUEXP_SOURCE_DIR) + "/" + file),
        compute_capability_(compute_capability),
        module_(
            SourceCompiler(ToolkitTools::found(), {}).compile(path_, options, compute_capability)) {
    for (const auto& [name, row] : module_->kernels().rows()) {
      table_.push_back(row);
      table_.back().host_function = &row;
    }
    resources_ = KernelResources(table_.data(), table_.size());
  }

  /// The lowered name of the only kernel whose name has this part.
  std::string name_with(const std::string& part) const {
    std::string name;
    for (const auto& [lowered_name, row] : module_->kernels().rows()) {
      if (lowered_name.find(part) == std::string::npos) continue;
      CHECK(name.empty());
      name = lowered_name;
    }
    return name;
  }

  /// FILE:LINE, as a Fault names it, of the only line that contains the text.
  std::string place_of(const std::string& text) const {
    std::ifstream in(path_);
    std::string place;
    int number = 1;
    for (std::string line; std::getline(in, line); ++number) {
      const std::size_t at = line.find(text);
      const bool is_whole =
          at != line.npos && (at + text.size() == line.size() || line[at + text.size()] == ' ');
      if (!is_whole) continue;
      CHECK(place.empty());
      place = path_.filename().string() + ":" + std::to_string(number);
    }
    return place;
  }

  /// One execution, in memory of its own.
  class Execution {
   public:
    explicit Execution(const RunTimeKernels& module)
        : module_(module), simulator_(module.resources_, module.compute_capability_) {}

    sim::Simulator& simulator() { return simulator_; }
    template <class T>
    void add(std::vector<T>& buffer, const std::string& name) {
      simulator_.memory().add(buffer.data(), buffer.size() * sizeof(T), name);
    }
    template <class... Arguments>
    void run(const std::string& kernel, std::int64_t blocks, std::int64_t threads,
             Arguments... arguments) {
      const auto& rows = module_.module_->kernels().rows();
      INFO(kernel);
      REQUIRE(rows.contains(kernel));
      KernelStep step;
      step.shape.kernel = &rows.at(kernel);
      step.shape.grid = {blocks, 1, 1};
      step.shape.block = {threads, 1, 1};
      (step.arguments.add(arguments), ...);
      simulator_.run(step);
    }

   private:
    const RunTimeKernels& module_;
    sim::Simulator simulator_;
  };

 private:
  std::filesystem::path path_;
  int compute_capability_;
  std::shared_ptr<const CompiledModule> module_;
  std::vector<KernelResource> table_;
  KernelResources resources_;
};

}  // namespace gpuexp::test
