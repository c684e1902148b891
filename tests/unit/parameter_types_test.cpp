// C types of the parameters of users' kernels.
#include "own/parameter_types.hpp"

#include <cstring>
#include <limits>

#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

struct Added {
  std::string error;
  PackedArguments arguments;

  template <class T>
  T value() const {
    REQUIRE(arguments.count() == 1);
    REQUIRE(arguments.size(0) == sizeof(T));
    T value;
    std::memcpy(&value, arguments.at(0), sizeof(T));
    return value;
  }
};

Added added(const std::string& number, const std::string& type, const Names& names = {}) {
  Added result;
  result.error = add_number(Expression::parse(number), type_named(type), names, result.arguments);
  return result;
}

TEST_CASE("numbers are packed in their C type", "[parameter_types]") {
  CHECK(added("-128", "char").value<signed char>() == -128);
  CHECK(added("127", "signed char").value<signed char>() == 127);
  CHECK(added("255", "unsigned char").value<unsigned char>() == 255);
  CHECK(added("-32768", "short").value<std::int16_t>() == -32768);
  CHECK(added("65535", "unsigned short").value<std::uint16_t>() == 65535);
  CHECK(added("-2^31", "int").value<std::int32_t>() == std::numeric_limits<std::int32_t>::min());
  CHECK(added("2^32 - 1", "unsigned").value<std::uint32_t>() == 4294967295u);
  CHECK(added("2^40", "long").value<std::int64_t>() == std::int64_t{1} << 40);
  CHECK(added("2^40", "size_t").value<std::uint64_t>() == std::uint64_t{1} << 40);
  CHECK(added("1", "bool").value<bool>());
  CHECK(added("1 / 2", "float").value<float>() == 0.5f);
  CHECK(added("0.1", "float").value<float>() == 0.1f);
  CHECK(added("a / 2", "double", {{"a", 0.2}}).value<double>() == 0.1);
  CHECK(added("n", "double", {{"n", std::int64_t{3}}}).value<double>() == 3);
}

TEST_CASE("numbers outside their C type are errors", "[parameter_types]") {
  const auto error = [](const std::string& number, const std::string& type) {
    const Added result = added(number, type);
    CHECK(result.arguments.count() == 0);
    return result.error;
  };
  CHECK(error("128", "char") == "is 128; expected -128 to 127");
  CHECK(error("-129", "signed char") == "is -129; expected -128 to 127");
  CHECK(error("256", "unsigned char") == "is 256; expected 0 to 255");
  CHECK(error("-1", "unsigned char") == "is -1; expected 0 to 255");
  CHECK(error("2^15", "short") == "is 32768; expected -32768 to 32767");
  CHECK(error("2^16", "unsigned short") == "is 65536; expected 0 to 65535");
  CHECK(error("2^31", "int") == "is 2147483648; expected -2147483648 to 2147483647");
  CHECK(error("2^32", "unsigned") == "is 4294967296; expected 0 to 4294967295");
  CHECK(error("-1", "size_t") == "is -1; expected 0 to 18446744073709551615");
  CHECK(error("2", "bool") == "is 2; expected 0 or 1");
  CHECK(error("4e38", "float") == "is 4e+38; expected -3.4028235e+38 to 3.4028235e+38");
  CHECK_THROWS_AS(added("0.5", "int"), ExpressionError);
  CHECK_THROWS_AS(added("1 / 2", "int"), ExpressionError);
  CHECK_THROWS_AS(added("exp(1000)", "double"), ExpressionError);
}

TEST_CASE("types that launches and buffers support", "[parameter_types]") {
  for (const char* type : {"char", "bool", "int", "unsigned long long", "float", "double"})
    CHECK(is_number(type_named(type)));
  for (const char* type : {"float4", "__half", "__nv_bfloat16", "Parameters"})
    CHECK(!is_number(type_named(type)));
  CHECK(element_type(type_named("float")) == DataType::fp32);
  CHECK(element_type(type_named("__half")) == DataType::fp16);
  CHECK(element_type(type_named("__nv_bfloat16")) == DataType::bf16);
  CHECK(element_type(type_named("unsigned long long")) == DataType::uint64);
  CHECK(element_type(type_named("std::uint16_t")) == DataType::uint16);
  CHECK(element_type(type_named("char")) == DataType::int8);
  CHECK(element_type(type_named("int8_t")) == DataType::int8);
  CHECK(element_type(type_named("short")) == DataType::int16);
  CHECK(element_type(type_named("int64_t")) == DataType::int64);
  CHECK(element_type(type_named("long long")) == DataType::int64);
  CHECK(element_type(type_named("bool")) == DataType::boolean);
  for (const char* type : {"float4", "void", "Parameters"})
    CHECK(!element_type(type_named(type)));
}

TEST_CASE("the largest error of rounding to a subnormal number", "[parameter_types]") {
  CHECK(half_smallest(DataType::fp32) ==
        static_cast<double>(std::numeric_limits<float>::denorm_min()) / 2);
  CHECK(half_smallest(DataType::fp64) == std::numeric_limits<double>::denorm_min());
  const unsigned char smallest[] = {1, 0};
  CHECK(half_smallest(DataType::fp16) == to_double(smallest, DataType::fp16) / 2);
  CHECK(half_smallest(DataType::bf16) == to_double(smallest, DataType::bf16) / 2);
  CHECK(half_smallest(DataType::int32) == 0);
  CHECK(is_integer(DataType::uint8));
  CHECK(!is_integer(DataType::bf16));
}

}  // namespace
}  // namespace gpuexp::own
