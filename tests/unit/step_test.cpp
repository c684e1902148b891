#include "family/step.hpp"

#include <cstring>

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

void three_parameters(char, double, const float*) {}

template <class T>
T argument(const PackedArguments& arguments, std::size_t place) {
  T value;
  std::memcpy(&value, arguments.at(place), sizeof value);
  return value;
}

TEST_CASE("arguments are converted and stored at the kernel's parameter offsets") {
  const float memory = 0;
  Shape shape;
  shape.grid.x = 7;
  const Steps steps = launch(three_parameters, shape, 'a', 3, &memory);
  REQUIRE(steps.all().size() == 1);
  const auto& kernel = std::get<KernelStep>(steps.all().front().action);
  CHECK(kernel.shape.kernel == kernel_address(three_parameters));
  CHECK(kernel.shape.grid == Extent{7, 1, 1});
  REQUIRE(kernel.arguments.count() == 3);
  CHECK(argument<char>(kernel.arguments, 0) == 'a');
  CHECK(argument<double>(kernel.arguments, 1) == 3.0);
  CHECK(argument<const float*>(kernel.arguments, 2) == &memory);
  CHECK(kernel.arguments.at(1) - kernel.arguments.at(0) == 8);
}

struct alignas(64) Encoded {
  unsigned char bytes[kTensorMapBytes];
};
void of_tensor_map(int, const Encoded, char) {}

TEST_CASE("a tensor map is an argument that keeps its description") {
  TensorMap map;
  map.extents = {100, 7};
  map.strides = {400};
  map.box = {32, 4};
  map.swizzle = Swizzle::bytes_128;
  const Steps steps = launch(of_tensor_map, Shape{}, 1, map, 'x');
  const PackedArguments& arguments = std::get<KernelStep>(steps.all().front().action).arguments;
  REQUIRE(arguments.count() == 3);
  CHECK(arguments.tensor_map(0) == nullptr);
  REQUIRE(arguments.tensor_map(1) != nullptr);
  CHECK(arguments.tensor_map(1)->extents == map.extents);
  CHECK(arguments.tensor_map(1)->swizzle == Swizzle::bytes_128);
  CHECK(arguments.at(1) - arguments.at(0) == 64);
  CHECK(argument<char>(arguments, 2) == 'x');
  CHECK(arguments.at(2) - arguments.at(1) == 128);
}

void of_texture(char, unsigned long long, char) {}

TEST_CASE("a texture is an argument of a texture object's size that keeps its description") {
  const Texture texture{&texture, 4, 1000};
  const Steps steps = launch(of_texture, Shape{}, 'a', texture, 'x');
  const PackedArguments& arguments = std::get<KernelStep>(steps.all().front().action).arguments;
  REQUIRE(arguments.count() == 3);
  CHECK(arguments.has_textures());
  CHECK(arguments.texture(0) == nullptr);
  REQUIRE(arguments.texture(1) != nullptr);
  CHECK(arguments.texture(1)->base == &texture);
  CHECK(arguments.texture(1)->words == 4);
  CHECK(arguments.texture(1)->count == 1000);
  CHECK(arguments.at(1) - arguments.at(0) == 8);
  CHECK(argument<char>(arguments, 2) == 'x');
  CHECK(arguments.at(2) - arguments.at(1) == kTextureObjectBytes);
}

TEST_CASE("concatenated steps keep their dependencies") {
  Steps first = MemsetStep{};
  Steps second = MemsetStep{};
  second += CopyStep{};
  second.all()[1].stream = 1;
  second.all()[1].after = {0};
  const Steps both = first + second;
  REQUIRE(both.all().size() == 3);
  CHECK(both.all()[1].after.empty());
  CHECK(both.all()[2].after == std::vector<std::size_t>{1});
  CHECK(both.all()[2].stream == 1);
  CHECK(both.shapes().empty());
}

TEST_CASE("an added step waits only for earlier steps") {
  Steps steps = MemsetStep{};
  Step copy = CopyStep{};
  copy.after = {0};
  CHECK(steps.add(copy) == 1);
  CHECK(steps.all()[1].after == std::vector<std::size_t>{0});
  copy.after = {2};
  CHECK_THROWS_WITH(steps.add(copy), "step 2 waits for step 2, which is not before it");
  // Dependencies of appended steps refer to the appended steps only.
  copy.after = {0};
  Steps alone = MemsetStep{};
  alone.all()[0].after = {0};
  CHECK_THROWS_AS(steps += alone, std::logic_error);
}

TEST_CASE("a launch over zero items has an empty grid") {
  CHECK(grid_stride(0, 10).grid.count() == 0);
  CHECK(grid_stride(257, 10).grid.x == 2);
  CHECK(grid_stride(1 << 20, 10).grid.x == 10);
}

TEST_CASE("shapes come from the steps, and a vendor's launch has none") {
  const Family family = toy_family();
  const auto problem = family.make_problem({std::int64_t{1000}, 0.5, std::string("narrow")});
  const auto shapes = family.find("first")->shapes(problem.get(), toy_device());
  REQUIRE(shapes.size() == 1);
  CHECK(shapes.front().grid.x == 4);
  CHECK(family.find("vendor")->shapes(problem.get(), toy_device()).empty());
}

TEST_CASE("families keep their addresses when others are added") {
  Registry registry;
  registry.add(toy_family());
  const Family* const toy = registry.find("toy");
  for (const char* id : {"zebra", "ant", "another"}) {
    Family other = toy_family();
    other.id = id;
    registry.add(std::move(other));
  }
  CHECK(registry.find("toy") == toy);
  CHECK(registry.families().front().id == "another");
  CHECK(registry.families().back().id == "zebra");
}

}  // namespace
}  // namespace gpuexp::test
