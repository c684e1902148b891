// Arrays in NumPy's .npy format.
#include "base/npy.hpp"

#include <cstring>
#include <sstream>

#include "base/input_error.hpp"
#include "support/catch.hpp"

namespace gpuexp {
namespace {

const std::string kName = "a.npy";

/// A file with this dictionary and these bytes of elements, padded as NumPy does.
std::string file_of(std::string dictionary, const std::string& elements, int version = 1) {
  const std::size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + dictionary.size() + 1) % 64 != 0)
    dictionary += ' ';
  dictionary += '\n';
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (std::size_t i = 0; i < prefix - 8; ++i)
    text += static_cast<char>(dictionary.size() >> (8 * i));
  return text + dictionary + elements;
}
std::string dictionary(const std::string& type, const std::string& shape) {
  return "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

NpyArray read(const std::string& text) {
  std::istringstream in(text);
  return read_npy(in, kName);
}
NpyHeader header(const std::string& dictionary) {
  std::istringstream in(file_of(dictionary, ""));
  return read_npy_header(in, kName);
}
std::string error_of(const std::string& text) {
  try {
    read(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}
std::string error_of_header(const std::string& dictionary) {
  return error_of(file_of(dictionary, ""));
}

template <class T>
void check_numbers(const std::string& type, const std::vector<T>& elements,
                   const std::vector<double>& numbers) {
  INFO(type);
  const std::string shape = "(" + std::to_string(elements.size()) + ",)";
  const NpyArray array = read(file_of(dictionary(type, shape), bytes_of(elements)));
  CHECK(array.numbers() == numbers);
  CHECK(array.bytes.size() == elements.size() * sizeof(T));
}

TEST_CASE("elements of each type are read", "[npy]") {
  check_numbers<float>("<f4", {0.5F, -3}, {0.5, -3});
  check_numbers<double>("<f8", {0.1, -1e300}, {0.1, -1e300});
  check_numbers<std::uint16_t>("<f2", {0x3c00, 0xc000}, {1, -2});
  check_numbers<std::int8_t>("|i1", {-128, 127}, {-128, 127});
  check_numbers<std::uint8_t>("|u1", {0, 255}, {0, 255});
  check_numbers<std::int16_t>("<i2", {-32768, 7}, {-32768, 7});
  check_numbers<std::uint16_t>("<u2", {0, 65535}, {0, 65535});
  check_numbers<std::int32_t>("<i4", {-5, INT32_MAX}, {-5, INT32_MAX});
  check_numbers<std::uint32_t>("<u4", {5, UINT32_MAX}, {5, UINT32_MAX});
  check_numbers<std::int64_t>("<i8", {-5, 1LL << 40}, {-5, 0x1p40});
  check_numbers<std::uint8_t>("|b1", {0, 1}, {0, 1});
  check_numbers<std::uint64_t>("<u8", {5, 1ULL << 63}, {5, 0x1p63});
  // bfloat16, as ml_dtypes stores it.
  for (const char* type : {"<V2", "|V2"})
    check_numbers<std::uint16_t>(type, {0x3f80, 0xc040}, {1, -3});
}

TEST_CASE("versions 1.0 to 3.0 and all shapes are read", "[npy]") {
  for (const int version : {1, 2, 3}) {
    const NpyArray array = read(
        file_of(dictionary("<i4", "(2, 3)"), bytes_of<std::int32_t>({0, 1, 2, 3, 4, 5}), version));
    CHECK(array.header.type == NpyType::int32);
    CHECK(array.header.shape == std::vector<std::int64_t>{2, 3});
    CHECK(array.numbers() == std::vector<double>{0, 1, 2, 3, 4, 5});
  }
  CHECK(header(dictionary("<f4", "()")).count() == 1);
  CHECK(header(dictionary("<f4", "(0, 4)")).count() == 0);
  CHECK(header(dictionary("<f4", "(3L, 4L)")).count() == 12);
  CHECK(header("{\"shape\":(7,),\"fortran_order\":False,\"descr\":\"<f8\"}").count() == 7);
}

TEST_CASE("files that are no arrays, or damaged ones, are refused", "[npy]") {
  const std::string whole = file_of(dictionary("<f4", "(3,)"), bytes_of<float>({1, 2, 3}));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK(!error_of(whole.substr(0, size)).empty());
  }
  CHECK(error_of(whole).empty());
  CHECK(error_of("") == "a.npy: is not a .npy file, which begins with \\x93NUMPY and a version");
  CHECK(error_of(whole.substr(0, 40)) == "a.npy: the file ends in its header");
  CHECK(error_of(whole.substr(0, whole.size() - 1)) ==
        "a.npy: the file has 11 of the array's 12 bytes");
  CHECK(error_of(whole + 'x') == "a.npy: the file has more than the array's 12 bytes");
  std::string other = whole;
  other[6] = 4;
  CHECK(error_of(other) == "a.npy: has version 4.0 of the .npy format; expected 1.0, 2.0 or 3.0");
  CHECK(error_of(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)) ==
        "a.npy: the header has 4294967295 bytes; expected at most 65536");
}

TEST_CASE("headers of other arrays are refused, with what is supported", "[npy]") {
  CHECK(error_of_header("{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}") ==
        "a.npy: the array is in Fortran order; expected C order: save "
        "numpy.ascontiguousarray(array)");
  CHECK(error_of_header(dictionary(">f4", "(2,)")) ==
        "a.npy: the elements have type '>f4', which is not little-endian; expected '<f4': save "
        "array.astype('<f4')");
  CHECK_THAT(error_of_header(dictionary("<c8", "(2,)")),
             Catch::Matchers::StartsWith("a.npy: elements of type '<c8' are not supported; "
                                         "expected one of <f2, <f4, <f8, |i1, "));
  CHECK_THAT(error_of_header("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
             Catch::Matchers::StartsWith("a.npy: the array has elements with several fields; "));
  CHECK(error_of_header("{'descr': '<f4', 'shape': (2,)}") ==
        "a.npy: the header has no 'fortran_order'");
  CHECK(error_of_header("{'descr': '<f4', 'descr': '<f4'}") ==
        "a.npy: the header has 'descr' twice");
  CHECK_THAT(error_of_header("{'color': 'red'}"),
             Catch::Matchers::StartsWith("a.npy: the header has the unknown key 'color'"));
}

TEST_CASE("sizes that overflow are refused", "[npy]") {
  const std::string many = "a.npy: the array has more than 2^36 bytes; expected fewer";
  CHECK(error_of_header(dictionary("<f4", "(4294967296, 4294967296)")) == many);
  CHECK(error_of_header(dictionary("<f4", "(0, 4294967296, 4294967296)")) == many);
  CHECK(error_of_header(dictionary("<f8", "(8589934593,)")) == many);
  CHECK(error_of_header(dictionary("<f4", "(9223372036854775808,)")) ==
        "a.npy: an extent of the shape exceeds 2^63 - 1");
  CHECK_THAT(error_of_header(dictionary("<f4", "(-1,)")),
             Catch::Matchers::StartsWith("a.npy: the header of a .npy file is damaged: expected an "
                                         "extent of at least 0, found '-1,)"));
  std::string shape = "(";
  for (int i = 0; i < 33; ++i)
    shape += "1,";
  CHECK(error_of_header(dictionary("<f4", shape + ")")) ==
        "a.npy: the array has more than 32 dimensions");
  // The memory for a large array is not reserved before its bytes are there.
  CHECK(error_of(file_of(dictionary("<f8", "(8589934592,)"), "12345678")) ==
        "a.npy: the file has 8 of the array's 68719476736 bytes");
}

TEST_CASE("types of arrays fit types of buffers", "[npy]") {
  CHECK(has_elements_of(NpyType::float32, DataType::fp32));
  CHECK(!has_elements_of(NpyType::float64, DataType::fp32));
  CHECK(!has_elements_of(NpyType::int32, DataType::fp32));
  CHECK(!has_elements_of(NpyType::int32, DataType::uint32));
  CHECK(has_elements_of(NpyType::uint16, DataType::bf16));
  CHECK(has_elements_of(NpyType::raw16, DataType::bf16));
  CHECK(!has_elements_of(NpyType::raw16, DataType::fp16));
  CHECK(text_of(NpyType::uint8) == "uint8 (|u1)");
}

}  // namespace
}  // namespace gpuexp
