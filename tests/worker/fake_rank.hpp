// A rank without a GPU: its executor meets the others as a real one does, and launches that wait
// for each other wait on the host.
#pragma once

#include <string>

namespace gpuexp {
class Registry;
}

namespace gpuexp::test {

/// toy_span: the toy family on `gpus` GPUs. toy_file: on one, whose parameter `width` may name a
/// file (*.txt), which the rank reads when the problem is set up or counted.
const Registry& spanning_registry();

/// Serves the rank's calls, with what the fault does to it: "none"; "kill_launch", "kill_missed"
/// (likewise, and a library of the others says so first), "hang_launch", "no_memory", "slow" (every
/// launch), "late" (to the meeting), "wrong" (results), each of rank 1 and of launches of `second`
/// where it is about these.
[[noreturn]] void work_as_rank(int rank, const std::string& fault);

}  // namespace gpuexp::test
