// A rank without a GPU. Its executor exchanges data with other ranks like a real one; dependent
// launches wait on the host.
#pragma once

#include <string>

namespace gpuexp {
class Registry;
}

namespace gpuexp::test {

/// toy_span: the toy family on `gpus` GPUs. toy_file: on one GPU; its parameter `width` may name a
/// file (*.txt), which the rank reads at set-up and when counting.
const Registry& spanning_registry();

/// Serves the rank's calls with a fault of rank 1: "none", "kill_launch", "kill_missed" (like
/// kill_launch, but other ranks report a library error first), "hang_launch", "no_memory", "slow"
/// (every launch), "late" (to the exchange) or "wrong" (results). Faults of one launch occur in
/// variant `second`.
[[noreturn]] void work_as_rank(int rank, const std::string& fault);

}  // namespace gpuexp::test
