// The GPUs of one host that a problem may span, and the links between them.
#pragma once

namespace gpuexp {

enum class LinkKind { none, pcie, nvlink };

enum class LinkLayout {
  by_switch,  ///< each GPU is linked to switches, which connect all GPUs at full rate
  all_pairs,
  pairs,  ///< each GPU is linked to one other GPU
};

/// GPUs of one model in a host. Values are from the datasheet or, for a GPU that is present, from
/// the driver.
struct Machine {
  int gpus = 1;
  LinkKind link = LinkKind::none;
  LinkLayout layout = LinkLayout::by_switch;
  double link_bytes_per_s = 0;  ///< from one GPU to all other GPUs, and from all other GPUs to one
};

}  // namespace gpuexp
