"""Random programs as CUDA sources: several files with one kernel per program and a table of the programs."""

from .generator import Deck, Numbers, make_approximate, make_program
from .instructions import approximate_forms, exact_forms

THREADS = 128  # per grid: two blocks of two warps
_HEAD = '''// Made by tests/scripts/random_kernels.py.
#include "sim/random_programs.hpp"

namespace gpuexp::test {
namespace {

'''
_PARAMETERS = ("const unsigned* from_all, unsigned char* to_all, unsigned char* mem_all, unsigned u0, unsigned u1, "
               "unsigned u2, unsigned u3")


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def kernel_text(program):
    lines = ["{", ".reg .b64 from, to, mem;", ".reg .b32 u0, u1, u2, u3;", "mov.b64 from, %0;", "mov.b64 to, %1;",
             "mov.b64 mem, %2;"]
    lines += [f"mov.b32 u{i}, %{3 + i};" for i in range(4)]
    # Special registers start with %, which an asm statement in C++ writes as %%.
    lines += [line.replace("%", "%%") for line in program.body_text()]
    lines.append("}")
    asm = "\n".join("      " + quoted(line + "\\n").replace("\\\\n", "\\n") for line in lines)
    return f'''__global__ void {program.name}({_PARAMETERS}) {{
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  asm volatile(
{asm}
      :
      : "l"(from_all + 32 * thread), "l"(to_all + 8 * thread), "l"(mem_all + 64 * thread), "r"(u0), "r"(u1), "r"(u2),
        "r"(u3)
      : "memory");
}}
'''


def entry_text(program):
    slots = "\n".join("     " + quoted(f"{slot.place}|{slot.name}|{slot.text}\\n").replace("\\\\n", "\\n")
                      for slot in program.slots)
    return f'''    {{"{program.name}", reinterpret_cast<const void*>({program.name}), {program.slot_count},
{slots}}},'''


def file_text(number, programs):
    kernels = "\n".join(kernel_text(program) for program in programs)
    entries = "\n".join(entry_text(program) for program in programs)
    return f'''{_HEAD}{kernels}
const RandomProgram kPrograms[] = {{
{entries}
}};

const RandomProgramsOfFile kFile({number}, kPrograms, std::size(kPrograms));

}}  // namespace
}}  // namespace gpuexp::test
'''


def write(out, stem, seed, count, approximate_count, files):
    out.mkdir(parents=True, exist_ok=True)
    deck = Deck(exact_forms(), Numbers(seed))
    programs = [make_program(f"r{seed}_{i}", seed << 32 | i, deck, THREADS) for i in range(count)]
    deck = Deck(approximate_forms(), Numbers(seed))
    programs += [make_approximate(f"a{seed}_{i}", seed << 32 | 1 << 31 | i, deck, THREADS)
                 for i in range(approximate_count)]
    for file in range(files):
        (out / f"{stem}_{file}.cu").write_text(file_text(file, programs[file::files]))
