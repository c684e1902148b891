// Kernel files that a compiler of this machine did not write: the headers of machine code and PTX,
// and what the tools print about a damaged or hand-made cubin. The kernels are executed and timed.
#include <stdexcept>

#include "compile/cubin_kernels.hpp"
#include "compile/kernel_input.hpp"
#include "compile/kernel_symbols.hpp"
#include "fuzz/promises.hpp"

namespace gpuexp::fuzz {

namespace {

template <class Function>
void with_refusal(const Function& function) {
  try {
    function();
  } catch (const std::runtime_error&) {
  }
}

void read_headers(std::string_view bytes) {
  with_refusal([&] {
    const CodeTarget target = code_target("k.cubin", bytes);
    require(target.is_exact && target.architecture >= 0 && target.architecture < 256,
            "machine code has one architecture");
    require(target.refusal(target.architecture).empty(), "machine code serves its architecture");
  });
  with_refusal([&] { code_target("k.ptx", bytes); });
  kernels_in_ptx(bytes);
  require(!toolkit_version_of_cubin(bytes).empty(), "a version is a text");
}

// The output of `cuobjdump --dump-resource-usage`, `--dump-sass` and `--dump-elf`, with a line
// "----" between them.
ObjectDump dump_of(std::string_view text) {
  constexpr std::string_view kBetween = "\n----\n";
  const auto take_part = [&] {
    const std::size_t end = text.find(kBetween);
    const std::string part(text.substr(0, end));
    text.remove_prefix(end == text.npos ? text.size() : end + kBetween.size());
    return part;
  };
  ObjectDump dump{"k.cubin", {}, {}, {}, {}};
  dump.resource_usage = take_part();
  dump.sass = take_part();
  dump.elf = take_part();
  return dump;
}

}  // namespace

void fuzz_cubin(std::string_view text) {
  read_headers(text);
  with_refusal([&] {
    const CubinKernels kernels(dump_of(text), "/home/me");
    for (const KernelSignature& kernel : signatures(kernels, ""))
      require(!kernel.lowered_name.empty(), "a kernel has a name");
    for (const auto& [name, row] : kernels.rows())
      fuzz_execution(row.code.text());
  });
}

}  // namespace gpuexp::fuzz
