// Properties of every declared family, checked without a GPU.
#include "family/registry.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "device/device_spec_file.hpp"
#include "plan/plan.hpp"
#include "registry/registry.hpp"
#include "sass/instruction_class.hpp"
#include "sass/kernel_resource.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const std::list<Family>& families() {
  return Registry::global().families();
}

// Defaults of a family, then its small problems.
std::vector<Values> problems(const Family& family) {
  auto all = choice_combinations(family);
  for (Values& values : small_problems(family))
    all.push_back(std::move(values));
  return all;
}

bool supported(const Family& family, const Variant& variant, const void* problem,
               const DeviceSpec& device) {
  if (device.compute_capability() < variant.min_compute_capability) return false;
  if (family.unsupported && family.unsupported(problem, device)) return false;
  return !(variant.unsupported && variant.unsupported(problem, device));
}

void check_shape(const Shape& shape) {
  constexpr std::int64_t kMaxGridX = 2147483647;
  constexpr std::int64_t kMaxGridYZ = 65535;
  constexpr std::int64_t kMaxThreads = 1024;
  CHECK(shape.kernel != nullptr);
  CHECK((shape.grid.x >= 1 && shape.grid.x <= kMaxGridX));
  CHECK((shape.grid.y >= 1 && shape.grid.y <= kMaxGridYZ));
  CHECK((shape.grid.z >= 1 && shape.grid.z <= kMaxGridYZ));
  CHECK((shape.block.count() >= 1 && shape.block.count() <= kMaxThreads));
}

// The last kernel, or all its launches together, must cover the outputs. If every launch is one
// block of the same kernel, they must cover them exactly.
void check_covers(const std::vector<Shape>& shapes, const Extent& outputs) {
  const Shape& shape = shapes.back();
  const bool has_one_each = std::all_of(shapes.begin(), shapes.end(), [&](const Shape& s) {
    return s.kernel == shape.kernel && s.grid.count() == 1;
  });
  if (has_one_each && shape.grid.x * shape.tile.x < outputs.x) {
    std::int64_t covered = 0;
    for (const Shape& s : shapes)
      covered += s.tile.x;
    CHECK(covered == outputs.x);
  } else {
    std::int64_t covered = 0;
    for (const Shape& s : shapes)
      covered += s.kernel == shape.kernel ? s.grid.x * s.tile.x : 0;
    CHECK(covered >= outputs.x);
  }
  CHECK(shape.grid.y * shape.tile.y >= outputs.y);
  CHECK(shape.grid.z * shape.tile.z >= outputs.z);
}

void check_work(const Work& work) {
  CHECK(work.bytes_read + work.bytes_written > 0);
  CHECK(work.moved_read >= 0);
  CHECK(work.moved_written >= 0);
  for (const Operations& o : work.operations)
    CHECK(o.count >= 0);
}

TEST_CASE("declarations are consistent") {
  for (const std::string& error : Registry::global().errors())
    FAIL_CHECK(error);
  CHECK(!families().empty());
}

TEST_CASE("families are named after their files") {
  std::set<std::string> stems;
  for (const auto& entry : fs::directory_iterator(kSource / "kernels")) {
    if (entry.path().extension() == ".cu") stems.insert(entry.path().stem().string());
  }
  std::set<std::string> ids;
  for (const Family& f : families())
    ids.insert(f.id);
  CHECK(ids == stems);
}

TEST_CASE("shapes cover the problem and stay within CUDA's limits") {
  for (const Family& family : families()) {
    for (const Values& values : problems(family)) {
      const auto problem = family.make_problem(values);
      for (const DeviceSpecFile& device : devices()) {
        for (const Variant& variant : family.variants) {
          if (variant.is_vendor || !supported(family, variant, problem.get(), device.spec))
            continue;
          INFO(family.id << "/" << variant.id << " " << describe(family, values) << " on "
                         << device.spec.id);
          const auto shapes = variant.shapes(problem.get(), device.spec);
          if (only_copies(variant, problem.get(), device.spec)) continue;
          REQUIRE(!shapes.empty());
          for (const Shape& shape : shapes)
            check_shape(shape);
          check_covers(shapes, family.outputs(problem.get()));
        }
      }
    }
  }
}

TEST_CASE("work is positive and metrics are declared") {
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  for (const Family& family : families()) {
    std::set<std::string> declared;
    for (const Metric& m : family.metrics)
      declared.insert(m.name);
    for (const Values& values : problems(family)) {
      const auto problem = family.make_problem(values);
      for (const Variant& variant : family.variants) {
        if (!supported(family, variant, problem.get(), device)) continue;
        INFO(family.id << "/" << variant.id << " " << describe(family, values));
        check_work(variant.work(problem.get()));
        if (!variant.metrics) continue;
        for (const auto& [name, value] : variant.metrics(problem.get(), device))
          CHECK(declared.count(name) == 1);
      }
    }
  }
}

// Table rows of the kernels that a variant launches at the family's defaults.
std::vector<KernelResources::Found> found_kernels(const Family& family, const Variant& variant,
                                                  const DeviceSpec& device) {
  std::vector<KernelResources::Found> kernels;
  const auto problem = family.make_problem(choice_combinations(family).front());
  if (variant.is_vendor || !supported(family, variant, problem.get(), device)) return kernels;
  for (const Shape& shape : variant.shapes(problem.get(), device)) {
    INFO(family.id << "/" << variant.id);
    const auto found = resources().find(shape.kernel, device.compute_capability());
    REQUIRE(found.has_value());
    kernels.push_back(*found);
  }
  return kernels;
}

bool has_table() {
  std::size_t count = 0;
  kernel_resource_table(count);
  if (count == 0)
    skip(Tier::machine_code, "built without cuobjdump: the kernel resource table is empty");
  return count > 0;
}

bool has_instructions() {
  if (!has_table()) return false;
  std::size_t count = 0;
  const KernelResource* table = kernel_resource_table(count);
  const bool any = std::any_of(table, table + count,
                               [](const KernelResource& row) { return *row.instructions != 0; });
  if (!any)
    skip(Tier::machine_code,
         "built without nvdisasm: the kernel resource table has no instructions");
  return any;
}

TEST_CASE("every kernel's registers and instructions are known if the table was generated",
          "[machine_code]") {
  if (!has_table()) return;
  const bool with_instructions = has_instructions();
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  for (const Family& family : families()) {
    for (const Variant& variant : family.variants) {
      for (const auto& [row, exact] : found_kernels(family, variant, device)) {
        INFO(family.id << "/" << variant.id << " " << row.lowered_name << " " << row.architecture);
        CHECK(row.registers > 0);
        CHECK(row.registers <= 255);
        if (with_instructions) CHECK(total(read_counts(row.instructions)) > 0);
      }
    }
  }
}

TEST_CASE("a kernel's module is the source that it was compiled from", "[machine_code]") {
  if (!has_table()) return;
  std::size_t count = 0;
  const KernelResource* table = kernel_resource_table(count);
  std::set<std::string> modules;
  for (const fs::path& folder : {kSource / "kernels", kSource / "src" / "gpu"}) {
    for (const auto& file : fs::recursive_directory_iterator(folder)) {
      if (file.path().extension() == ".cu") modules.insert(file.path().stem().string());
    }
  }
  std::set<std::pair<std::string, std::string>> ids;
  std::set<const void*> stubs;
  for (std::size_t i = 0; i < count; ++i) {
    INFO(table[i].module << " " << table[i].lowered_name);
    CHECK(modules.count(table[i].module) == 1);
    ids.emplace(table[i].module, table[i].lowered_name);
    stubs.insert(table[i].host_function);
  }
  CHECK(ids.size() == stubs.size());
  // A family's own kernels are in its module; others are in one of several modules that share a
  // header.
  int own = 0;
  for (const Family& family : families()) {
    for (const Variant& variant : family.variants) {
      for (const auto& [row, exact] :
           found_kernels(family, variant, find_device_spec(devices(), "h200").spec))
        own += row.module == family.id;
    }
  }
  CHECK(own > 50);
}

/// Instruction classes of a variant's first kernel on an H200, by name.
class Classes {
 public:
  Classes(const char* family_id, const char* variant_id) {
    const Family* family = Registry::global().find(family_id);
    REQUIRE(family != nullptr);
    const Variant* variant = family->find(variant_id);
    REQUIRE(variant != nullptr);
    const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
    const auto kernels = found_kernels(*family, *variant, device);
    REQUIRE(!kernels.empty());
    for (const ClassCount& c : count_classes(read_counts(kernels.front().resource.instructions)))
      counts_[c.name] = c.count;
  }

  int operator[](const std::string& name) const {
    const auto entry = counts_.find(name);
    return entry == counts_.end() ? 0 : entry->second;
  }

 private:
  std::map<std::string, int> counts_;
};

TEST_CASE("launch bounds cap registers, and the rest is in local memory", "[machine_code]") {
  if (!has_table()) return;
  const Family* family = Registry::global().find("occupancy");
  REQUIRE(family != nullptr);
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  const auto problem = family->make_problem(choice_combinations(*family).front());
  const auto of = [&](const char* variant) {
    const auto shapes = family->find(variant)->shapes(problem.get(), device);
    REQUIRE(shapes.size() == 1);
    const auto found = occupancy(shapes.front(), device, resources());
    REQUIRE(found.has_value());
    return *found;
  };
  const Occupancy natural = of("held_natural");
  CHECK(natural.registers > 64);
  CHECK(natural.local_bytes == 0);
  CHECK(natural.blocks_per_sm == 2);
  const Occupancy capped_64 = of("held_capped_64");
  CHECK(capped_64.registers <= 64);
  CHECK(capped_64.local_bytes > 0);
  CHECK(capped_64.blocks_per_sm == 4);
  const Occupancy capped_32 = of("held_capped_32");
  CHECK(capped_32.registers <= 32);
  CHECK(capped_32.local_bytes > capped_64.local_bytes);
  CHECK(capped_32.blocks_per_sm == 8);
  const Occupancy shared = of("held_capped_64_shared");
  CHECK(shared.local_bytes < capped_64.local_bytes);
  CHECK(shared.shared_bytes > 0);
  CHECK(shared.blocks_per_sm == 4);
  // The families compute the same residency without knowing registers.
  CHECK(of("copy_ilp1").blocks_per_sm == 8);
  CHECK(of("copy_half_warps").blocks_per_sm == 4);
  CHECK(of("copy_quarter_warps").blocks_per_sm == 2);
}

TEST_CASE("machine code matches the lessons' statements", "[machine_code]") {
  if (!has_instructions()) return;
  SECTION("the divergent branch is a branch, and select has none") {
    const Classes branch("divergence", "split_in_warp");
    CHECK(branch["BSSY"] > 0);
    CHECK(branch["BSYNC"] > 0);
    CHECK(branch["@P BRA"] > 0);
    const Classes select("divergence", "select");
    CHECK(select["BSSY"] == 0);
    CHECK(select["BSYNC"] == 0);
    CHECK(select["FFMA"] == branch["FFMA"]);
  }
  SECTION("lanes reconverge after a branch unless the compiler knows that it is uniform") {
    const Classes per_lane("warp_uniform", "per_lane");
    CHECK(per_lane["BSSY"] > 0);
    CHECK(per_lane["BSYNC"] > 0);
    for (const char* variant : {"broadcast", "vote", "by_block"}) {
      INFO(variant);
      const Classes uniform("warp_uniform", variant);
      CHECK(uniform["BSSY"] == 0);
      CHECK(uniform["BSYNC"] == 0);
      CHECK(uniform["FFMA"] == per_lane["FFMA"]);
    }
    CHECK(Classes("warp_uniform", "broadcast")["SHFL.IDX"] == 1);
    CHECK(Classes("warp_uniform", "vote")["VOTE.ANY"] == 1);
  }
  SECTION("a switch branches through a table") {
    CHECK(Classes("switch_divergence", "switch_in_warp")["BRX"] > 0);
  }
  SECTION("loads are as wide as their variant states") {
    const Classes narrow("vector_width", "read_4b");
    CHECK(narrow["LDG.32"] > 0);
    CHECK(narrow["LDG.64"] == 0);
    CHECK(narrow["LDG.128"] == 0);
    CHECK(Classes("vector_width", "read_8b")["LDG.64"] > 0);
    CHECK(Classes("vector_width", "read_16b")["LDG.128"] > 0);
    const Classes copy("vector_width", "copy_16b");
    CHECK(copy["LDG.128"] == copy["STG.128"]);
  }
  SECTION("a dependent step is one instruction: 256 in the loop, one in the remainder loop") {
    constexpr int kSteps = 257;
    CHECK(Classes("latency", "fma")["FFMA"] == kSteps);
    CHECK(Classes("latency", "shared")["LDS.32"] == kSteps);
    CHECK(Classes("latency", "l1")["LDG.64"] == kSteps);
    CHECK(Classes("latency", "l2")["LDG.64"] == kSteps);
    CHECK(Classes("latency", "l2_all_sms")["LDG.64"] == kSteps);
    CHECK(Classes("latency", "atomic_l2")["ATOMG.ADD"] == kSteps);
    CHECK(Classes("latency", "barrier")["BAR.SYNC"] == kSteps);
  }
  SECTION("additions are atomics with a result, or reductions, as their variant states") {
    CHECK(Classes("atomics", "global")["RED.ADD"] > 0);
    CHECK(Classes("atomics", "global")["ATOMG.ADD"] == 0);
    CHECK(Classes("atomics", "returning")["ATOMG.ADD"] > 0);
    CHECK(Classes("atomics", "returning")["RED.ADD"] == 0);
    CHECK(Classes("atomics", "redux_aggregated")["SHFL.DOWN"] == 0);
    CHECK(Classes("atomics", "warp_first")["SHFL.DOWN"] ==
          5 * Classes("atomics", "warp_first")["RED.ADD"]);
    CHECK(Classes("histogram", "lane_copies")["ATOMS.POPC"] > 0);
    CHECK(Classes("histogram", "shared_atomics")["ATOMS.POPC"] > 0);
  }
  SECTION("a pass over a tile in shared memory is eight loads") {
    constexpr int kLoads = 8;
    CHECK(Classes("bank_conflicts", "load_4b")["LDS.32"] == kLoads);
    CHECK(Classes("bank_conflicts", "load_8b")["LDS.64"] == kLoads);
    CHECK(Classes("bank_conflicts", "load_16b")["LDS.128"] == kLoads);
    for (const char* variant : {"column", "column_padded", "column_xor"})
      CHECK(Classes("bank_conflicts", variant)["LDS.32"] == kLoads);
    for (const char* variant : {"ldmatrix", "ldmatrix_padded", "ldmatrix_xor"})
      CHECK(Classes("bank_conflicts", variant)["LDSM.16.M88.4"] == kLoads);
  }
  SECTION("registers beyond the kernel's limit are spilled") {
    const auto spills = [](const char* variant) {
      const Classes classes("occupancy", variant);
      return classes["LDL.32"] + 2 * classes["LDL.64"] + 4 * classes["LDL.128"];
    };
    CHECK(spills("held_natural") == 0);
    CHECK(spills("held_capped_64") > 0);
    CHECK(spills("held_capped_32") > spills("held_capped_64"));
    CHECK(spills("held_capped_64_shared") < spills("held_capped_64"));
    CHECK(Classes("occupancy", "held_capped_64_shared")["LDS.32"] > 0);
  }
  SECTION("no variant of the ladder of matrix products spills") {
    const Family* matmul = Registry::global().find("matmul");
    REQUIRE(matmul != nullptr);
    for (const Variant& variant : matmul->variants) {
      if (variant.is_vendor) continue;
      INFO(variant.id);
      const Classes classes("matmul", variant.id.c_str());
      CHECK(classes["FFMA"] > 0);
      CHECK(classes["LDL.32"] + classes["LDL.64"] + classes["LDL.128"] == 0);
    }
    CHECK(Classes("matmul", "async_stages")["LDGSTS.128"] > 0);
  }
}

TEST_CASE("deterministic variants use no atomic additions of floats", "[machine_code]") {
  if (!has_instructions()) return;
  const DeviceSpec& device = find_device_spec(devices(), "h200").spec;
  const auto adds_floats = [](const Instruction& instruction) {
    const std::string_view mnemonic = instruction.mnemonic();
    if (!mnemonic.starts_with("RED") && !mnemonic.starts_with("ATOM")) return false;
    if (mnemonic.starts_with("REDUX")) return false;
    const auto modifiers = instruction.modifiers();
    return std::any_of(modifiers.begin(), modifiers.end(), [](std::string_view m) {
      return m.starts_with("F16") || m.starts_with("BF16") || m.starts_with("F32") ||
             m.starts_with("F64");
    });
  };
  std::set<std::string> with_float_atomics;
  std::set<std::string> deterministic;
  for (const Family& family : families()) {
    for (const Variant& variant : family.variants) {
      const std::string name = family.id + "/" + variant.id;
      if (variant.deterministic) deterministic.insert(name);
      for (const auto& [row, exact] : found_kernels(family, variant, device)) {
        for (const auto& [instruction, count] : read_counts(row.instructions)) {
          if (adds_floats(instruction)) with_float_atomics.insert(name);
        }
      }
    }
  }
  for (const std::string& name : deterministic) {
    INFO(name);
    CHECK(with_float_atomics.count(name) == 0);
  }
  CHECK(deterministic.count("atomics/float_fixed_order") == 1);
  CHECK(with_float_atomics.count("atomics/float_block_first") == 1);
}

}  // namespace
}  // namespace gpuexp::test
