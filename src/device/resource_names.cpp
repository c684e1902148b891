#include "device/resource_names.hpp"

namespace gpuexp {

const std::vector<std::string>& resource_names() {
  static const std::vector<std::string> kNames{
      "dram",        "l2",      "l1",     "shared", "blocks",
      "issue",       "fma",     "alu",    "fp64",   "xu",
      "tensor",      "latency", "launch", "host",   "copy_to_device",
      "copy_to_host",
      "links"};
  return kNames;
}

}  // namespace gpuexp
