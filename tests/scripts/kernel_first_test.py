#!/usr/bin/env python3
"""A family's file shows a kernel early: the first measured one starts within 80 lines. At least half of the code of the matrix products is
device code. No family's file is longer than 560 lines."""

import re
import unittest
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "kernels"
FIRST_KERNEL_BY = 80  # line
MAX_LINES = 560
MIN_DEVICE_SHARE = 0.5
READ_FOR_THEIR_KERNELS = ["matmul", "matmul_tensor"]
WITHOUT_KERNEL = {"vocab_padding": "measures a library alone"}

# These sections and later ones contain no measured kernel.
AFTER_VARIANTS = re.compile(r"^// ---- (?:inputs|the plain reference|declaration)", re.MULTILINE)
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
NESTED = r"\((?:[^()]|\([^()]*\))*\)"
LAUNCH_BOUNDS = re.compile(r"__launch_bounds__" + NESTED)
TEMPLATE = re.compile(r"template <.*?>\s*(?=\w)", re.DOTALL)
NAME = re.compile(r"\b(?:struct|class|enum class|enum|using)\s+(\w+)|\b(k[A-Z]\w*)(?:\s*=|\{)|\b(\w+)\s*\(")
# Kernel arguments that describe the problem do not count as device code.
OF_THE_PROBLEM = {"Problem", "Data"}


def code_lines(text):
    """All lines, without comments and contents of string literals."""
    return [line.split("//")[0].rstrip() for line in STRING.sub('""', text).splitlines()]


def declared_name(declaration):
    found = NAME.search(TEMPLATE.sub(" ", LAUNCH_BOUNDS.sub(" ", declaration)))
    return next(filter(None, found.groups())) if found else ""


def first_kernel(text):
    """Line and name of the first kernel that is used again before the sections after the variants."""
    lines = code_lines(AFTER_VARIANTS.split(text)[0])
    for index, line in enumerate(lines):
        if "__global__" in line:
            name = declared_name("\n".join(lines[index : index + 3]))
            if re.search(rf"\b{name}\b", "\n".join(lines[index + 3 :])):
                return index + 1, name
    return None


class Declaration:
    """A declaration at namespace scope."""

    def __init__(self, lines):
        text = "\n".join(lines)
        signature = LAUNCH_BOUNDS.sub(" ", text).split("{")[0]
        self.lines = len(lines)
        self.words = set(re.findall(r"\w+", text))
        self.name = declared_name(text)
        self.is_device = "__global__" in signature or ("__device__" in signature and "__host__" not in signature)
        is_type = re.search(r"\b(?:struct|class|enum|using|constexpr)\b", TEMPLATE.sub(" ", signature))
        self.is_host_function = "(" in signature and not is_type and not self.is_device


def declarations(text):
    found, lines, depth = [], [], 0
    for line in code_lines(text):
        begins_none = re.match(r"(?:#|namespace|\}|using namespace)", line) and not lines
        if not line or begins_none:
            continue
        lines.append(line)
        if not line.startswith("#"):
            depth += line.count("{") + line.count("(") - line.count("}") - line.count(")")
        if depth == 0 and line.endswith((";", "}")):
            found.append(Declaration(lines))
            lines = []
    return found


def device_share(text):
    """Share of device functions, and the types and constants that they use, in the lines of code."""
    every = declarations(text)
    device = [d for d in every if d.is_device]
    for user in device:  # the list grows
        device += [d for d in every
                   if d.name in user.words and d not in device and not d.is_host_function and d.name not in OF_THE_PROBLEM]
    return sum(d.lines for d in device) / sum(d.lines for d in every)


class Example(unittest.TestCase):
    FAMILY = """// words: __global__ void comment_kernel()
namespace gpuexp::family {

struct Problem {
  int n;
};

constexpr int kTile = 32;

// ---- plain

template <class T>
__global__ void __launch_bounds__(kTile, max(1, 2))
    plain_kernel(Problem p, T* out) {
#pragma unroll
  out[threadIdx.x] = "} no end {"[p.n];
}

Variant plain() {
  return variant("plain", plain_kernel<float>);
}

// ---- inputs

__global__ void fill_kernel(float* out) {}
const Registration registration(declare(fill_kernel));

}  // namespace gpuexp::family
"""

    def test_the_first_kernel_is_one_that_a_variant_launches(self):
        self.assertEqual(first_kernel(self.FAMILY), (13, "plain_kernel"))
        self.assertIsNone(first_kernel(self.FAMILY.replace("plain_kernel<float>", "other")))
        unused = self.FAMILY.replace("// ---- plain\n", "__global__ void unused_kernel() {}\n")
        self.assertEqual(first_kernel(unused), (13, "plain_kernel"))

    def test_device_code_is_functions_of_the_device_and_what_they_use(self):
        # 8 of 15 lines: the kernel's 6, fill_kernel and kTile; not Problem, plain and registration.
        self.assertEqual([d.name for d in declarations(self.FAMILY)],
                         ["Problem", "kTile", "plain_kernel", "plain", "fill_kernel", "registration"])
        self.assertAlmostEqual(device_share(self.FAMILY), 8 / 15)
        host = self.FAMILY.replace("kTile", "kUnused", 1)
        self.assertAlmostEqual(device_share(host), 7 / 15)
        both = self.FAMILY.replace("__global__ void fill_kernel", "__host__ __device__ void fill")
        self.assertAlmostEqual(device_share(both), 7 / 15)


class FamilyFiles(unittest.TestCase):
    def setUp(self):
        self.texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(KERNELS.glob("*.cu"))}
        self.assertTrue(self.texts)

    def test_the_first_measured_kernel_stands_near_the_top(self):
        for family, text in self.texts.items():
            with self.subTest(family=family):
                found = first_kernel(text)
                if family in WITHOUT_KERNEL:
                    self.assertIsNone(found)
                else:
                    self.assertIsNotNone(found)
                    self.assertLessEqual(found[0], FIRST_KERNEL_BY, found[1])

    def test_half_of_a_matrix_product_is_device_code(self):
        for family in READ_FOR_THEIR_KERNELS:
            with self.subTest(family=family):
                self.assertGreaterEqual(device_share(self.texts[family]), MIN_DEVICE_SHARE)

    def test_no_file_is_too_long(self):
        for path in [*KERNELS.glob("*.cu"), *KERNELS.glob("*/*.cu")]:
            with self.subTest(file=path.relative_to(KERNELS)):
                self.assertLessEqual(path.read_text(encoding="utf-8").count("\n"), MAX_LINES)

    def test_a_folder_has_further_files_of_a_family(self):
        for path in KERNELS.glob("*/*.cu"):
            with self.subTest(file=path.relative_to(KERNELS)):
                self.assertIn(path.parent.name, self.texts)
                self.assertNotIn(path.stem, self.texts)


if __name__ == "__main__":
    unittest.main()
