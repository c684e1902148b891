#include <algorithm>
#include <cmath>
#include <string>

#include "compile/kernel_symbols.hpp"
#include "fuzz/promises.hpp"
#include "own/declaration_reader.hpp"
#include "own/declaration_sections.hpp"
#include "own/json_declaration.hpp"
#include "own/own_family.hpp"
#include "own/own_problem.hpp"

namespace gpuexp::fuzz {

namespace {

constexpr const char* kFile = "fuzz.cu";

/// Follows every input, so that its launches have kernels.
constexpr const char* kKernels = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n);
extern "C" __global__ void scale(float* z, const float* x, float a, double b, unsigned char c);
extern "C" __global__ void half(const __half* h, __nv_bfloat16* b, unsigned long long* u, bool on);
extern "C" __global__ void nameless(int*, int);
extern "C" __global__ void strange(float** p, float4 v);
)";

std::vector<own::OwnKernel> kernels_of(const std::string& source) {
  static const char address = 0;
  std::vector<own::OwnKernel> kernels;
  for (KernelSignature& signature : signatures(kernels_in(source), source))
    kernels.push_back({std::move(signature), [](const own::Names&) { return &address; }});
  return kernels;
}

bool is_within(const Extent& extent, const Extent& limit) {
  return extent.x >= 1 && extent.y >= 1 && extent.z >= 1 && extent.x <= limit.x &&
         extent.y <= limit.y && extent.z <= limit.z;
}

void check_place(const own::Place& place, std::string_view source) {
  const auto lines = std::count(source.begin(), source.end(), '\n') + 1;
  require(place.line >= 1 && place.line <= lines && place.column >= 1, "a place is in the file");
}

void check_declaration(const own::Declaration& declaration, std::string_view source) {
  for (const own::DeclaredParameter& parameter : declaration.parameters) {
    require(!parameter.values.empty(), "a parameter has a value");
    for (const Value& value : parameter.values)
      require(value.index() == parameter.values.front().index(), "an axis has one type");
    check_place(parameter.place, source);
  }
  for (const own::DeclaredBuffer& buffer : declaration.buffers) {
    require(!buffer.extents.empty(), "a buffer has an extent");
    check_place(buffer.place, source);
  }
  for (const own::DeclaredVariant& variant : declaration.variants) {
    std::size_t launches = 0;
    for (const own::DeclaredStep& step : variant.steps) {
      const auto* const launch = std::get_if<own::DeclaredLaunch>(&step);
      if (!launch) continue;
      ++launches;
      require(!launch->grid.empty() && launch->grid.size() <= 3, "a grid has 1 to 3");
      require(!launch->block.empty() && launch->block.size() <= 3, "a block, too");
      if (launch->template_arguments)
        for (const own::DeclaredTemplateArgument& argument : *launch->template_arguments)
          require(!argument.text.empty(), "a template argument has a text");
    }
    require(launches > 0, "a variant launches a kernel");
  }
}

/// A problem whose requirements hold has launches, contents and tolerances.
void check_problem(const Family& family, const Values& values) {
  const auto problem = family.make_problem(values);
  if (family.unsupported(problem.get(), {})) return;
  for (const Buffer& buffer : family.buffers) {
    const std::int64_t count = buffer.count(problem.get());
    require(count >= 1 && count <= std::int64_t{1} << 48, "a buffer has elements, in bounds");
    if (!buffer.tolerance) continue;
    const Tolerance tolerance = buffer.tolerance(problem.get());
    require(std::isfinite(tolerance.relative) && tolerance.relative >= 0, "a tolerance is a bound");
    require(std::isfinite(tolerance.absolute) && tolerance.absolute >= 0, "a tolerance is a bound");
  }
  DeviceSpec device;
  device.cc_major = 9;
  device.sm = sm_limits(9, 0);
  device.memory_bytes = std::int64_t{1} << 40;
  for (const Variant& variant : family.variants) {
    require(!variant.writes.empty(), "a variant has an output");
    if (variant.unsupported(problem.get(), device)) continue;
    for (const Shape& shape : variant.shapes(problem.get(), {})) {
      require(is_within(shape.grid, {2147483647, 65535, 65535}), "a grid is within limits");
      require(is_within(shape.block, {1024, 1024, 64}), "a block is within limits");
      require(shape.block.count() <= 1024, "a block has at most 1024 threads");
      require(shape.dynamic_shared_bytes >= 0, "shared memory is not negative");
    }
    const Work work = variant.work(problem.get());
    require(std::isfinite(work.bytes_read) && work.bytes_written > 0, "work is finite");
  }
}

/// Checks the family of a declaration in the source.
void check_family(own::Declaration declaration, const std::string& source) {
  const std::vector<own::DeclaredParameter> parameters = declaration.parameters;
  const own::SharedBound bound =
      own::bound_to(std::move(declaration), kernels_of(source), kernels_in(source));
  require(!own::sections_of(*bound).empty(), "a declaration has a text");
  const Family family = own::family_of(kFile, bound);
  // Each axis by itself; the other parameters have their first value.
  check_problem(family, family.defaults());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Values values = family.defaults();
    values[i] = parameters[i].values.back();
    check_problem(family, values);
  }
}

void fuzz_json_declaration(std::string_view text) {
  constexpr const char* kJsonFile = "fuzz.gpuexp.json";
  try {
    own::JsonDeclaration read = own::read_json_declaration(kJsonFile, text);
    for (const own::DeclaredParameter& parameter : read.declaration.parameters)
      require(parameter.place.entry != nullptr, "a place is an entry of the file");
    check_family(std::move(read.declaration), kKernels);
  } catch (const own::DeclarationError& error) {
    check_message(error, kJsonFile);
  } catch (const ConfigError& error) {
    check_message(error, kJsonFile);
  }
}

}  // namespace

void fuzz_declaration(std::string_view text) {
  if (text.starts_with('{')) return fuzz_json_declaration(text);
  const std::string source = std::string(text) + kKernels;
  try {
    own::Declaration declaration = own::read_declaration(kFile, source);
    check_declaration(declaration, source);
    check_family(std::move(declaration), source);
  } catch (const own::DeclarationError& error) {
    check_message(error, kFile);
  }
}

}  // namespace gpuexp::fuzz
