#include "base/npy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <istream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/names.hpp"
#include "base/stored_element.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

struct NpyTypeRow {
  NpyType type;
  std::string_view code;  ///< kind and number of bytes
  std::string_view name;
  std::size_t bytes;
  DataType elements;  ///< the elements of a buffer with the same bytes
};

constexpr std::array<NpyTypeRow, 13> kNpyTypes{{
    {NpyType::float16, "f2", "float16", 2, DataType::fp16},
    {NpyType::float32, "f4", "float32", 4, DataType::fp32},
    {NpyType::float64, "f8", "float64", 8, DataType::fp64},
    {NpyType::int8, "i1", "int8", 1, DataType::int8},
    {NpyType::int16, "i2", "int16", 2, DataType::int16},
    {NpyType::int32, "i4", "int32", 4, DataType::int32},
    {NpyType::int64, "i8", "int64", 8, DataType::int64},
    {NpyType::uint8, "u1", "uint8", 1, DataType::uint8},
    {NpyType::uint16, "u2", "uint16", 2, DataType::uint16},
    {NpyType::uint32, "u4", "uint32", 4, DataType::uint32},
    {NpyType::uint64, "u8", "uint64", 8, DataType::uint64},
    {NpyType::boolean, "b1", "bool", 1, DataType::boolean},
    {NpyType::raw16, "V2", "raw 16-bit elements", 2, DataType::bf16},
}};

const NpyTypeRow& row_of(NpyType type) {
  return *std::find_if(kNpyTypes.begin(), kNpyTypes.end(),
                       [&](const NpyTypeRow& row) { return row.type == type; });
}

std::string supported_types() {
  std::string text;
  for (const NpyTypeRow& row : kNpyTypes)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", row.bytes == 1 ? '|' : '<', row.code);
  return text;
}

/// The product of the shape and the type's size; empty if it exceeds kMaxNpyBytes.
std::optional<std::int64_t> bytes_of_array(const NpyHeader& header) {
  // An extent of 0 must not hide that the others overflow.
  auto bytes = static_cast<std::int64_t>(size_of(header.type));
  bool is_empty = false;
  for (const std::int64_t extent : header.shape) {
    is_empty = is_empty || extent == 0;
    if (extent == 0) continue;
    if (extent > kMaxNpyBytes / bytes) return std::nullopt;
    bytes *= extent;
  }
  return is_empty ? 0 : bytes;
}

/// Reads the header's text, a literal of a Python dictionary:
///   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& name) : rest_(text), name_(name) {}

  NpyHeader header() {
    expect('{', "the header's dictionary");
    while (!takes('}')) {
      const std::string key(quoted("a key"));
      expect(':', "the value after a key");
      read_value(key);
      if (takes(',')) continue;
      expect('}', "',' or the end of the dictionary");
      break;
    }
    skip_blanks();
    if (!rest_.empty()) fail("the end of the header");
    for (const auto& [is_read, key] :
         {std::pair(has_type_, "descr"), {has_order_, "fortran_order"}, {has_shape_, "shape"}})
      if (!is_read) refuse(fmt::format("the header has no '{}'", key));
    if (!bytes_of_array(header_)) refuse("the array has more than 2^36 bytes; expected fewer");
    return std::move(header_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const {
    throw InputError(fmt::format("{}: {}", name_, message));
  }
  [[noreturn]] void fail(std::string_view expected) const {
    refuse(fmt::format("the header of a .npy file is damaged: expected {}, found {}", expected,
                       rest_.empty() ? "its end" : fmt::format("'{}'", shorten(printable(rest_)))));
  }
  void skip_blanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size()));
  }
  bool takes(char c) {
    skip_blanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c, std::string_view what) {
    if (!takes(c)) fail(what);
  }

  /// The text in quotes. Escapes do not occur in headers of supported arrays.
  std::string_view quoted(std::string_view what) {
    skip_blanks();
    if (!rest_.starts_with('\'') && !rest_.starts_with('"')) fail(what);
    const std::size_t end = rest_.find(rest_.front(), 1);
    if (end == std::string_view::npos) fail(what);
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }

  void read_value(const std::string& key) {
    bool* const is_read = key == "descr"           ? &has_type_
                          : key == "fortran_order" ? &has_order_
                          : key == "shape"         ? &has_shape_
                                                   : nullptr;
    if (!is_read)
      refuse(
          fmt::format("the header has the unknown key '{}'; expected descr, fortran_order and "
                      "shape",
                      shorten(printable(key))));
    if (std::exchange(*is_read, true)) refuse(fmt::format("the header has '{}' twice", key));
    if (is_read == &has_type_) return read_type();
    if (is_read == &has_shape_) return read_shape();
    read_order();
  }

  void read_type() {
    skip_blanks();
    if (rest_.starts_with('['))
      refuse("the array has elements with several fields; expected one of " + supported_types());
    const std::string_view text = quoted("the type of the elements");
    const bool has_order =
        !text.empty() && std::string_view("<>|=").find(text.front()) != std::string_view::npos;
    const std::string_view code = text.substr(has_order ? 1 : 0);
    const auto row = std::find_if(kNpyTypes.begin(), kNpyTypes.end(),
                                  [&](const NpyTypeRow& r) { return r.code == code; });
    if (row == kNpyTypes.end())
      refuse(fmt::format("elements of type '{}' are not supported; expected one of {}",
                         shorten(printable(text)), supported_types()));
    const bool is_little = !has_order || text.front() == '<' || row->bytes == 1 ||
                           (text.front() == '|' && row->type == NpyType::raw16);
    if (!is_little)
      refuse(
          fmt::format("the elements have type '{}', which is not little-endian; expected '<{}': "
                      "save array.astype('<{}')",
                      text, code, code));
    header_.type = row->type;
  }

  void read_order() {
    skip_blanks();
    if (rest_.starts_with("False")) {
      rest_.remove_prefix(std::string_view("False").size());
    } else if (rest_.starts_with("True")) {
      refuse(
          "the array is in Fortran order; expected C order: save numpy.ascontiguousarray(array)");
    } else {
      fail("True or False");
    }
  }

  void read_shape() {
    expect('(', "the shape in parentheses");
    while (!takes(')')) {
      if (header_.shape.size() == kMaxNpyRank)
        refuse(fmt::format("the array has more than {} dimensions", kMaxNpyRank));
      header_.shape.push_back(extent());
      if (takes(',')) continue;
      expect(')', "',' or the end of the shape");
      break;
    }
  }

  std::int64_t extent() {
    skip_blanks();
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
    if (error == std::errc::result_out_of_range) refuse("an extent of the shape exceeds 2^63 - 1");
    if (error != std::errc() || extent < 0) fail("an extent of at least 0");
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (rest_.starts_with('L')) rest_.remove_prefix(1);  // a long integer of Python 2
    return extent;
  }

  std::string_view rest_;
  const std::string& name_;
  NpyHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

/// Reads up to `size` bytes.
std::string bytes_from(std::istream& in, std::size_t size) {
  std::string bytes(size, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return bytes;
}

/// Reads a little-endian number.
std::size_t number_from(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;)
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  return number;
}

}  // namespace

std::string text_of(NpyType type) {
  const NpyTypeRow& row = row_of(type);
  return fmt::format("{} ({}{})", row.name, row.bytes == 1 ? '|' : '<', row.code);
}

std::size_t size_of(NpyType type) {
  return row_of(type).bytes;
}

bool has_elements_of(NpyType type, DataType elements) {
  return row_of(type).elements == elements ||
         (type == NpyType::uint16 && elements == DataType::bf16);
}

std::vector<std::string> npy_types_of(DataType elements) {
  std::vector<std::string> types;
  for (const NpyTypeRow& row : kNpyTypes)
    if (has_elements_of(row.type, elements)) types.push_back(text_of(row.type));
  return types;
}

std::int64_t NpyHeader::count() const {
  return bytes_of_array(*this).value_or(0) / static_cast<std::int64_t>(size_of(type));
}

std::vector<double> NpyArray::numbers() const {
  const DataType type = row_of(header.type).elements;
  std::vector<double> numbers(bytes.size() / gpuexp::size_of(type));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = stored_element(bytes.data(), type, static_cast<std::int64_t>(i));
  return numbers;
}

NpyHeader read_npy_header(std::istream& in, const std::string& name) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  constexpr std::size_t kMaxHeader = std::size_t{1} << 16;
  const auto refuse = [&](const std::string& message) {
    throw InputError(fmt::format("{}: {}", name, message));
  };
  const std::string begin = bytes_from(in, kMagic.size() + 2);
  if (!begin.starts_with(kMagic) || begin.size() < kMagic.size() + 2)
    refuse("is not a .npy file, which begins with \\x93NUMPY and a version");
  const int major = static_cast<unsigned char>(begin[kMagic.size()]);
  const int minor = static_cast<unsigned char>(begin[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0)
    refuse(fmt::format("has version {}.{} of the .npy format; expected 1.0, 2.0 or 3.0", major,
                       minor));
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::string length = bytes_from(in, length_bytes);
  const std::size_t size = number_from(length);
  if (length.size() == length_bytes && size > kMaxHeader)
    refuse(fmt::format("the header has {} bytes; expected at most {}", size, kMaxHeader));
  const std::string text = bytes_from(in, size);
  if (length.size() < length_bytes || text.size() < size) refuse("the file ends in its header");
  return HeaderReader(text, name).header();
}

// The memory grows with the bytes that are there, because a damaged header may announce gigabytes.
NpyArray read_npy(std::istream& in, const std::string& name) {
  constexpr std::size_t kPart = std::size_t{1} << 20;
  NpyArray array{read_npy_header(in, name), {}};
  const auto wanted = static_cast<std::size_t>(array.header.count()) * size_of(array.header.type);
  while (array.bytes.size() < wanted) {
    const std::size_t begin = array.bytes.size();
    const std::size_t more = std::min(std::max(kPart, begin), wanted - begin);
    array.bytes.resize(begin + more);
    in.read(reinterpret_cast<char*>(array.bytes.data() + begin),
            static_cast<std::streamsize>(more));
    const auto found = static_cast<std::size_t>(in.gcount());
    if (found < more)
      throw InputError(
          fmt::format("{}: the file has {} of the array's {} bytes", name, begin + found, wanted));
  }
  if (in.peek() != std::istream::traits_type::eof())
    throw InputError(fmt::format("{}: the file has more than the array's {} bytes", name, wanted));
  return array;
}

}  // namespace gpuexp
