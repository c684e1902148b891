// The GPUs of one host that a problem may span, and what joins them.
#pragma once

namespace gpuexp {

enum class LinkKind {
  none,   ///< a GPU reaches no other's memory
  pcie,   ///< over PCI Express
  nvlink  ///< over NVLink
};

/// Which pairs of GPUs have a link of their own.
enum class LinkLayout {
  by_switch,  ///< none: all of a GPU's links go to switches, and reach any other at full rate
  all_pairs,  ///< each
  pairs,      ///< each GPU with one other
};

/// Of GPUs of one kind. What a file says is the datasheet's; of a machine that is present, what the
/// driver says.
struct Machine {
  int gpus = 1;
  LinkKind link = LinkKind::none;
  LinkLayout layout = LinkLayout::by_switch;
  double link_bytes_per_s = 0;  ///< out of one GPU to all others together; the same into it
};

}  // namespace gpuexp
