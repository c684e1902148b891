// Problems of kernel files: values that expressions have, limits of GPUs, contents and work.
#include "device/device_spec.hpp"
#include "sass/loaded_kernels.hpp"
#include "support/own_declarations.hpp"

namespace gpuexp::own {
namespace {

double operations_of(const Work& work, Pipe pipe) {
  for (const Operations& operations : work.operations) {
    if (operations.pipe == pipe) return operations.count;
  }
  return 0;
}

TEST_CASE("work is declared for all variants or for one", "[own_problem]") {
  const Family f = family(
      "a = 2\nn = 64\nx[n]\nz[n]\nall = scale<<<1, 64>>>\none = scale<<<1, 64>>>\n"
      "check z[i] = a*x[i]\nwork one fp32 = n^2/2\nwork fp32 = 0.5\nwork tensor_bf16_fp32 = n\n"
      "work one bytes_read = 33");
  const auto problem = f.make_problem(f.defaults());
  const Work all = f.variants[0].work(problem.get());
  CHECK(operations_of(all, Pipe::fp32) == 0.5);
  CHECK(operations_of(all, Pipe::tensor_bf16_fp32) == 64);
  CHECK(all.bytes_read == 256);
  CHECK(all.untyped_operations == 0);
  CHECK(!all.is_assumed);
  const Work one = f.variants[1].work(problem.get());
  CHECK(operations_of(one, Pipe::fp32) == 2048);
  CHECK(one.bytes_read == 33);
  CHECK(one.moved_read == 64);
  CHECK(one.bytes_written == 256);
  const Family assumed = family(kAdd);
  const Work of_add = assumed.variants[0].work(assumed.make_problem(assumed.defaults()).get());
  CHECK(of_add.is_assumed);
  CHECK(of_add.operations.empty());
  CHECK(of_add.untyped_operations == 2000);
  check_cases(
      {{kAdd + "\nwork fp32 = n - 2000", "7:24: the work 'n - 2000' is -1000; expected at least 0"},
       {kAdd + "\nwork fp32 = n/0", "7:25: division by zero in 1000 / 0"},
       {kAdd + "\nwork fp32 = m",
        "7:24: 'm' has no value; declare it, such as in m = 1024, or use a declared parameter; "
        "allowed: n"},
       {kAdd + "\nwork ad fp32 = n",
        "7:20: 'ad' is not a variant; did you mean 'add'? allowed: add"},
       {kAdd + "\nm = 4\nwork fp32 = m", ""}});
}

TEST_CASE("problems that cannot be evaluated", "[own_problem]") {
  check_cases(
      {{add_with("x[n]\n", "x[n - 1000]\n"),
        "2:14: the extent of x 'n - 1000' is 0; expected at least 1"},
       {add_with("x[n]\n", "x[n / 3]\n"),
        "2:16: 1000 / 3 leaves the remainder 1; use ceil_div(1000, 3), or floor_div for the whole "
        "part"},
       {add_with("n = 1000", "n = 1000.5"), "2:14: parameter 'n' is 1000.5; expected an integer"},
       {add_with("x[n]\n", "x[n^6][n^6]\n"), "2:12: x has more than 2^48 elements; expected fewer"},
       {add_with("x[n]\n", "x[n^3][n^3]\n"), "2:12: x has more than 2^48 elements; expected fewer"},
       {add_with("x[n]\n", "x[n^7]\n"), "2:15: 1000 ^ 7 is out of the range of 64-bit integers"},
       {add_with("ceil_div(n, 256)", "n/256"),
        "5:19: 1000 / 256 leaves the remainder 232; use ceil_div(1000, 256), or floor_div for the "
        "whole part"},
       {add_with("ceil_div(n, 256)", "n - n"), "5:18: the grid 'n - n' is 0; expected at least 1"},
       {add_with("256>>>", "256, 4 - n>>>"),
        "5:41: the bytes of shared memory '4 - n' are -996; expected at least 0"},
       {add_with("256>>>", "256>>>(x, y, z, n*2^30)"),
        "5:52: 'n*2^30', for the parameter n of add of type int, is 1073741824000; expected "
        "-2147483648 to 2147483647"},
       {kAdd + "\nrequire n / 3 == 1",
        "7:22: 1000 / 3 leaves the remainder 1; use ceil_div(1000, 3), or floor_div for the whole "
        "part"}});
}

TEST_CASE("scalars outside their C type", "[own_problem]") {
  const auto launch = [](const std::string& c, const std::string& b) {
    return "z[4]\nh[4]\nbytes<<<1, 4>>>(z, h, " + c + ", " + b + ")\ncheck z[i] = 1";
  };
  check_cases(
      {{launch("-128", "1"), ""},
       {launch("128", "1"),
        "3:34: '128', for the parameter c of bytes of type signed char, is 128; expected -128 to "
        "127"},
       {launch("0", "2"),
        "3:37: '2', for the parameter b of bytes of type bool, is 2; expected 0 or 1"},
       {launch("0.5", "1"), "3:34: 0.5 is not an integer; expected integers"},
       {"a = 1e39\nx[4]\nz[4]\nscale<<<1, 4>>>\ncheck z[i] = a*x[i]",
        "4:12: 'a', for the parameter a of scale of type float, is 1e+39; expected -3.4028235e+38 "
        "to 3.4028235e+38"},
       {"x[4]\nz[4]\nwhole<<<1, 4>>>(z, x, -1)\ncheck z[i] = 1",
        "3:34: '-1', for the parameter n of whole of type unsigned, is -1; expected 0 to "
        "4294967295"}});
}

TEST_CASE("unmet requirements come before extents and launches", "[own_problem]") {
  const Family f = family(replaced(add_with("ceil_div(n, 256)", "n/256"), "x[n]", "x[n/256][256]") +
                          "\nrequire n % 256 == 0");
  const auto unmet = f.make_problem({std::int64_t{1000}});
  CHECK(f.unsupported(unmet.get(), {}) == "requires n % 256 == 0");
  CHECK(f.buffers[0].count(unmet.get()) == 1);
  CHECK_THROWS_WITH(f.make_problem({std::int64_t{512}}),
                    contains_text("6:25: 'x' has 2 dimensions, found 1 index"));
}

/// Why the first variant cannot run its default problem on a small GPU; empty if it can. The code
/// of the kernel `add` has these resources and limits.
std::string beyond_small_gpu(const std::string& statements, const KernelResource& resource = {},
                             const BlockLimits& block = {}) {
  DeviceSpec device;
  device.name = "small";
  device.sm.shared_bytes_per_block = 49152;
  device.sm.registers = 65536;
  device.memory_bytes = 1 << 20;
  const std::string source = source_of(statements);
  std::vector<OwnKernel> kernels = kernels_of(kernels_in(source), source);
  const void* const loaded =
      LoadedKernels::global().add({"add", [&](int) {
                                     return LoadedCode{&resource, "", "", {}, block};
                                   }});
  kernels.front().address = [&](const Names&) { return loaded; };
  const Family f = family_of("k.cu", read_declaration("k.cu", source), std::move(kernels));
  return f.variants[0].unsupported(f.make_problem(f.defaults()).get(), device).value_or("");
}

TEST_CASE("launches and buffers beyond the limits of the GPU or the code", "[own_problem]") {
  struct LimitCase {
    std::string statements;
    std::string error;
    KernelResource resource = {};
    BlockLimits block = {};
  };
  KernelResource large;
  large.static_shared_bytes = 49152;
  KernelResource registers;
  registers.registers = 128;
  const std::vector<LimitCase> cases{
      {kAdd, ""},
      {add_with("ceil_div(n, 256)", "2^31"),
       "5:18: the grid has 2147483648 along x; expected at most 2147483647"},
      {add_with("ceil_div(n, 256)", "(1, 2^16)"),
       "5:22: the grid has 65536 along y; expected at most 65535"},
      {add_with("ceil_div(n, 256)", "(2^40, 2^40, 2^40)"),
       "5:19: the grid has 1099511627776 along x; expected at most 2147483647"},
      {add_with("256>>>", "1025>>>"), "5:36: the block has 1025 along x; expected at most 1024"},
      {add_with("256>>>", "(1, 1, 65)>>>"), "5:43: the block has 65 along z; expected at most 64"},
      {add_with("256>>>", "(1024, 1024, 64)>>>"),
       "5:37: the block has 1024 x 1024 x 64 = 67108864 threads; expected at most 1024"},
      {kAdd,
       "5:36: the block has 256 threads; expected at most 128, which __launch_bounds__ of add "
       "declares",
       {},
       {128, {}}},
      {kAdd, "", {}, {256, {}}},
      {kAdd,
       "5:36: the block is (256, 1, 1); expected (128, 2, 1), which add requires",
       {},
       {0, {128, 2, 1}}},
      {add_with("256>>>", "256, 2^20>>>"),
       "5:41: a block of add needs 1048576 bytes of shared memory, 1048576 of the launch and 0 of "
       "the kernel's variables; expected at most 49152 on small"},
      {kAdd, "", large},
      {add_with("256>>>", "256, 4>>>"),
       "5:41: a block of add needs 49156 bytes of shared memory, 4 of the launch and 49152 of the "
       "kernel's variables; expected at most 49152 on small",
       large},
      {kAdd, "", registers},
      {add_with("256>>>", "1024>>>"),
       "5:36: the block has 1024 threads, and add uses 128 registers per thread; an SM of small "
       "has "
       "65536: expected fewer threads, or __launch_bounds__(1024) of add",
       registers},
      {add_with("n = 1000", "n = 2^18"),
       "2:12: x has 262144 elements of type fp32, 1 MiB; the buffers and the expected values need "
       "7 MiB, but small has 1 MiB of memory; expected fewer elements"},
      {add_with("check z[i] = x[i] + y[i]",
                "reference scale<<<1, 2000>>>(z, x, 0.5)\ntolerance 0.1"),
       "6:33: the block has 2000 along x; expected at most 1024"}};
  for (const LimitCase& c : cases) {
    INFO(c.statements);
    CHECK(beyond_small_gpu(c.statements, c.resource, c.block) ==
          (c.error.empty() ? "" : "k.cu:" + c.error));
  }
}

TEST_CASE("fills that do not fit their elements", "[own_problem]") {
  const auto whole = [](const std::string& fill) {
    return "x[300] = " + fill + "\nz[300]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = x[i]";
  };
  const auto half = [](const std::string& fill) {
    return "h[3000] = " + fill + "\nz[4]\nbytes<<<1, 4>>>(z, h, 0, 0)\ncheck z[i] = 1";
  };
  const auto byte = [](const std::string& fill, int n = 256) {
    return "in_out z[" + std::to_string(n) + "] = " + fill +
           "\nh[4]\nbytes<<<1, 4>>>(z, h, 0, 0)\ncheck z[i] = 1";
  };
  check_cases(
      {{whole("uniform"),
        "1:21: x has elements of type int32; expected integers(low, high), iota "
        "or zeros"},
       {whole("normal"),
        "1:21: x has elements of type int32; expected integers(low, high), iota "
        "or zeros"},
       {whole("integers(-2^31, 2^31)"), ""},
       {whole("integers(-2^31, 2^31 + 1)"),
        "1:21: integers(-2147483648, 2147483649) has numbers from -2147483648 to 2147483648, but "
        "elements of type int32 represent the whole numbers from -2147483648 to 2147483647"},
       {whole("integers(4, 4)"),
        "1:21: integers(4, 4) has no numbers; expected a second value above the first"},
       {whole("integers(-2^62, 2^62)"),
        "1:21: integers(-4611686018427387904, 4611686018427387904) has too many numbers; expected "
        "fewer than 2^63"},
       {whole("1.5"),
        "1:21: the contents are 1.5, but elements of type int32 represent the whole numbers from "
        "-2147483648 to 2147483647"},
       {whole("-(2^31) - 1"),
        "1:21: the contents are -2147483649, but elements of type int32 represent the whole "
        "numbers from -2147483648 to 2147483647"},
       {whole("-7"), ""},
       {half("uniform(1, 1)"),
        "1:22: uniform(1, 1) has no numbers; expected a second value above the first"},
       {half("uniform(0, 1)"), ""},
       {half("0.5"), ""},
       {whole("uniform(0, 1)"),
        "1:21: x has elements of type int32; expected integers(low, high), iota or zeros"},
       {whole("integers(0, 0.5)"), "1:33: 0.5 is not an integer; expected integers"},
       {half("normal"), ""},
       {half("iota"),
        "1:22: iota stores 0 to 2999 in h, but elements of type fp16 represent the "
        "whole numbers from -2048 to 2048"},
       {half("integers(0, 2050)"),
        "1:22: integers(0, 2050) has numbers from 0 to 2049, but elements of type fp16 represent "
        "the whole numbers from -2048 to 2048"},
       {byte("iota"), ""},
       {byte("iota", 257),
        "1:28: iota stores 0 to 256 in z, but elements of type uint8 represent "
        "the whole numbers from 0 to 255"},
       {byte("integers(-1, 4)"),
        "1:28: integers(-1, 4) has numbers from -1 to 3, but elements of type uint8 represent the "
        "whole numbers from 0 to 255"}});
}

}  // namespace
}  // namespace gpuexp::own
