// The text of printf() in device code. The expected texts are those that an H200 printed with CUDA
// 13.0.
#include "sim/device_printf.hpp"

#include <bit>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A buffer of arguments, as a caller of vprintf() lays it out.
class Arguments {
 public:
  Arguments& add(int value) { return add_bytes(&value, sizeof value); }
  Arguments& add(long long value) { return add_bytes(&value, sizeof value); }
  Arguments& add(unsigned long long value) { return add_bytes(&value, sizeof value); }
  Arguments& add(double value) { return add_bytes(&value, sizeof value); }
  Arguments& add(const char* text) {
    const std::uint64_t address = text ? texts_.size() + 1 : 0;
    if (text) texts_[address] = text;
    return add_bytes(&address, sizeof address);
  }

  sim::PrintfResult format(const std::string& format) const {
    return sim::format_printf(format, {[&](std::size_t offset, std::size_t bytes) {
                                         std::uint64_t value = 0;
                                         REQUIRE(offset + bytes <= buffer_.size());
                                         std::memcpy(&value, buffer_.data() + offset, bytes);
                                         return value;
                                       },
                                       [&](std::uint64_t address) { return texts_.at(address); }});
  }

 private:
  Arguments& add_bytes(const void* value, std::size_t bytes) {
    buffer_.resize((buffer_.size() + bytes - 1) / bytes * bytes);
    const auto* const first = static_cast<const std::byte*>(value);
    buffer_.insert(buffer_.end(), first, first + bytes);
    return *this;
  }

  std::vector<std::byte> buffer_;
  std::map<std::uint64_t, std::string> texts_;
};

template <class... Values>
std::string text(const std::string& format, Values... values) {
  Arguments arguments;
  (arguments.add(values), ...);
  return arguments.format(format).text;
}

TEST_CASE("device printf formats numbers as an H200 does", "[sim]") {
  CHECK(text("%d|%5d|%-5d|%05d|%+d|% d", 1, 1, 1, 1, 1, 1) == "1|    1|1    |00001|+1| 1");
  CHECK(text("%x|%#x|%X|%o|%#o|%u", 11, 11, 11, 11, 11, -1) == "b|0xb|B|13|013|4294967295");
  CHECK(text("%f|%.2f|%10.3f", 0.5, 0.25, 1.5) == "0.500000|0.25|     1.500");
  CHECK(text("%e|%g|%G|%E|%a|%A|%F", 1e10, 1e-5, 1e20, 0.1, 1.5, 1.5, 1.5) ==
        "1.000000e+10|1e-05|1E+20|1.000000E-01|0x1.8p+0|0X1.8P+0|1.500000");
  CHECK(text("%lld|%llu|%llx", 1ll << 40, ~0ull, 0xabcdefull << 20) ==
        "1099511627776|18446744073709551615|abcdef00000");
  CHECK(text("%hd|%hu", 70000, 70000) == "4464|4464");
  CHECK(text("%lu", 7ull) == "7");
  CHECK(text("%lf", 2.5) == "2.500000");
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(text("%f %f", kInfinity, -kInfinity) == "inf -inf");
  CHECK(text("%*d|%-*d|", 6, 42, 6, 42) == "    42|42    |");
  CHECK(text("%*d|", -6, 42) == "42    |");
}

TEST_CASE("device printf formats characters, texts and pointers as an H200 does", "[sim]") {
  CHECK(text("%c|%5c|%-5c|%lc", 'a', 'x', 'y', 'a') == "a|    x|y    |a");
  CHECK(text("%s|%10s|%-10s|%.2s|%ls", "abc", "abc", "abc", "abc", "b") ==
        "abc|       abc|abc       |ab|b");
  CHECK(text("%s", static_cast<const char*>(nullptr)) == "(null)");
  CHECK(text("%p", 0x1234ull) == "0x1234");
  CHECK(text("%d %f %d %s", 1, 2.0, 3, "x") == "1 2.000000 3 x");
}

TEST_CASE("device printf keeps what it does not know", "[sim]") {
  CHECK(text("100%\n") == "100%\n");
  CHECK(text("%%|%5%|%y %d", 3) == "%|%5%|%y 3");
  for (const char* unknown : {"%zu", "%jd", "%td", "%n", "%.*f", "%Lf", "%'d", "%", "%5", "%.",
                              "%99999d", "%99999999999d", "%llld"}) {
    INFO(unknown);
    CHECK(text(unknown) == unknown);
  }
}

TEST_CASE("device printf counts its arguments, at most 32", "[sim]") {
  CHECK(Arguments().format("abc").arguments == 0);
  CHECK(Arguments().add(1).add(2).add(3).format("%d %d %d\n").arguments == 3);
  CHECK(Arguments().add(6).add(42).format("%*d").arguments == 2);
  Arguments many;
  std::string format;
  for (int i = 0; i < 33; ++i) {
    many.add(i % 10);
    format += "%d";
  }
  const sim::PrintfResult result = many.format(format);
  CHECK(result.arguments == 32);
  CHECK(result.text == "01234567890123456789012345678901%d");
}

}  // namespace
}  // namespace gpuexp::test
