#include "device/machine.hpp"

namespace gpuexp {

std::string_view name_of(LinkKind kind) {
  switch (kind) {
    case LinkKind::none: break;
    case LinkKind::pcie: return "PCI Express";
    case LinkKind::nvlink: return "NVLink";
  }
  return "none";
}

}  // namespace gpuexp
