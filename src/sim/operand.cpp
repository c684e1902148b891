#include "sim/operand.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// RZ, URZ and PT have the index after the last one.
constexpr unsigned kLastRegister = kZeroRegister - 1;
constexpr unsigned kLastUniform = kZeroUniformRegister - 1;
constexpr unsigned kLastPredicate = kTruePredicate - 1;
constexpr unsigned kLastBarrier = 15;

class Scanner {
 public:
  explicit Scanner(std::string_view text) : all_(text), rest_(text) {}

  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool is_done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }
  char front() const { return rest_.empty() ? '\0' : rest_.front(); }

  std::uint8_t index(unsigned last) {
    const auto number = take_number<unsigned>(rest_);
    if (!number || *number > last) fail();
    return static_cast<std::uint8_t>(*number);
  }

  std::int64_t integer() {
    const bool is_negative = take("-");
    if (!take("0x")) fail();
    const auto number = take_number<std::uint64_t>(rest_, 16);
    if (!number) fail();
    return static_cast<std::int64_t>(is_negative ? 0 - *number : *number);
  }

  [[noreturn]] void fail() const {
    throw std::runtime_error(fmt::format("operand '{}' is not understood at '{}'", all_, rest_));
  }

 private:
  std::string_view all_;
  std::string_view rest_;
};

/// R4, RZ, UR4 or URZ at the front of the text; empty if there is none.
struct Register {
  bool is_uniform;
  std::uint8_t index;
};
std::optional<Register> take_register(Scanner& scan) {
  if (scan.take("URZ")) return Register{true, kZeroUniformRegister};
  if (scan.take("UR")) return Register{true, scan.index(kLastUniform)};
  if (scan.take("RZ")) return Register{false, kZeroRegister};
  if (scan.front() == 'R' && scan.rest().size() > 1 && scan.rest()[1] >= '0' &&
      scan.rest()[1] <= '9') {
    scan.take("R");
    return Register{false, scan.index(kLastRegister)};
  }
  return std::nullopt;
}

void take_suffixes(Scanner& scan, Operand& operand) {
  while (!scan.is_done()) {
    if (scan.take(".reuse")) continue;
    if (scan.take(".H0_H0") || scan.take(".H0")) {
      operand.half = Operand::Half::low;
    } else if (scan.take(".H1_H1") || scan.take(".H1")) {
      operand.half = Operand::Half::high;
    } else if (scan.take(".B0")) {
      operand.half = Operand::Half::both;
    } else if (scan.take(".B1")) {
      operand.half = Operand::Half::byte1;
    } else if (scan.take(".B2")) {
      operand.half = Operand::Half::byte2;
    } else if (scan.take(".B3")) {
      operand.half = Operand::Half::byte3;
    } else if (scan.take(".64")) {
      operand.wide = true;
    } else if (scan.take(".X16")) {
      operand.shift = 4;
    } else if (scan.take(".X8")) {
      operand.shift = 3;
    } else if (scan.take(".X4")) {
      operand.shift = 2;
    } else if (scan.take(".ROW") || scan.take(".COL") || scan.take(".U32") || scan.take(".SIGN")) {
      // Ignored: the shape determines the layouts of IMMA, addresses have a fixed width, and PLOP3
      // uses only the signs of registers.
      continue;
    } else {
      return;
    }
  }
}

// Parses [ ]: registers and an offset, separated by +.
void take_address(Scanner& scan, Operand& operand) {
  if (!scan.take("[")) scan.fail();
  while (!scan.take("]")) {
    scan.take("+");
    if (const auto reg = take_register(scan)) {
      if (reg->is_uniform) {
        operand.uniform_index = reg->index;
      } else {
        operand.index = reg->index;
        operand.has_base = true;
      }
      take_suffixes(scan, operand);
    } else {
      // Unsigned, because an invalid listing could cause an overflow.
      operand.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(operand.value) +
                                                static_cast<std::uint64_t>(scan.integer()));
    }
  }
}

Operand read_real(std::string_view text) {
  Operand operand;
  operand.kind = Kind::real;
  const std::string copy(text);
  if (copy == "+INF" || copy == "-INF") {
    operand.number = copy[0] == '-' ? -INFINITY : INFINITY;
  } else if (copy.find("NAN") != std::string::npos) {
    // The listing shows only the NaN's sign; in fp32, source_of() sets all other bits.
    operand.number =
        std::copysign(std::numeric_limits<double>::quiet_NaN(), copy[0] == '-' ? -1 : 1);
  } else {
    std::size_t read = 0;
    try {
      operand.number = std::stod(copy, &read);
    } catch (const std::logic_error&) {
      read = 0;
    }
    if (read != copy.size())
      throw std::runtime_error(fmt::format("operand '{}' is not understood", text));
  }
  return operand;
}

bool is_real(std::string_view text) {
  if (text.ends_with("INF") || text.find("NAN") != std::string_view::npos) return true;
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9' && !text.starts_with("0x");
}

Operand read_value(Scanner& scan) {
  Operand operand;
  if (scan.take("c[")) {
    operand.kind = Kind::constant;
    operand.bank = static_cast<std::uint8_t>(scan.integer());
    if (!scan.take("]")) scan.fail();
    scan.take(" ");
    take_address(scan, operand);
  } else if (scan.take("desc[UR")) {
    operand.kind = Kind::memory;
    operand.descriptor = scan.index(kLastUniform);
    if (!scan.take("]")) scan.fail();
    // The descriptor of a bulk copy is a cache policy.
    if (!scan.is_done()) take_address(scan, operand);
  } else if (scan.take("gdesc[UR")) {
    operand.kind = Kind::matrices;
    operand.index = scan.index(kLastUniform);
    if (!scan.take("]")) scan.fail();
    while (scan.take(".negA") || scan.take(".negB") || scan.take(".tnspA") || scan.take(".tnspB")) {
    }
  } else if (scan.front() == '[') {
    operand.kind = Kind::memory;
    take_address(scan, operand);
  } else if (const auto reg = take_register(scan)) {
    operand.kind = reg->is_uniform ? Kind::uniform : Kind::reg;
    operand.index = reg->index;
  } else if (scan.take("UPT") || scan.take("PT")) {
    operand.kind = Kind::predicate;
    operand.index = kTruePredicate;
  } else if (scan.rest() != "UPR" && scan.take("UP")) {
    operand.kind = Kind::uniform_predicate;
    operand.index = scan.index(kLastPredicate);
  } else if (scan.front() == 'P' && scan.rest() != "PR") {
    scan.take("P");
    operand.kind = Kind::predicate;
    operand.index = scan.index(kLastPredicate);
  } else if (scan.front() == 'B' && scan.rest().size() > 1 && scan.rest()[1] <= '9') {
    scan.take("B");
    operand.kind = Kind::barrier;
    operand.index = scan.index(kLastBarrier);
  } else if (scan.rest().starts_with("SR")) {
    operand.kind = Kind::special;
    operand.text = scan.rest();
    scan.take(scan.rest());
  } else if (scan.front() == '-' || (scan.front() >= '0' && scan.front() <= '9')) {
    operand.kind = Kind::integer;
    operand.value = scan.integer();
  } else {
    operand.kind = Kind::name;
    operand.text = scan.rest();
    scan.take(scan.rest());
  }
  return operand;
}

Operand read_operand(std::string_view text) {
  if (is_real(text)) return read_real(text);
  Scanner scan(text);
  const bool is_integer = text.starts_with("-0x") || text.starts_with("0x");
  const bool negated = !is_integer && scan.take("-");
  const bool bitwise = scan.take("~");
  const bool inverted = scan.take("!") || bitwise;
  const bool absolute = scan.take("|");
  Operand operand = read_value(scan);
  operand.negated = negated;
  operand.inverted = inverted;
  operand.absolute = absolute;
  take_suffixes(scan, operand);
  if (absolute && !scan.take("|")) scan.fail();
  take_suffixes(scan, operand);
  if (!scan.is_done()) scan.fail();
  return operand;
}

}  // namespace

std::vector<Operand> read_operands(std::string_view text) {
  std::vector<Operand> operands;
  // In BRX R6 -0x410 and RET.REL.NODEC R10 0x0, a blank separates the operands. The blank in
  // c[0x3] [0x4].H1_H1, a half of a constant, does not.
  while (!text.empty()) {
    std::size_t end = text.find(',');
    const std::size_t blank = text.find(' ');
    if (blank != std::string_view::npos && blank < end && !text.substr(0, blank).empty() &&
        !text.substr(blank).starts_with(" [") &&
        text.find_first_not_of(' ', blank) != text.find(',', blank))
      end = blank;
    const std::string_view one = trimmed(text.substr(0, end));
    if (!one.empty()) {
      operands.push_back(read_operand(one));
      operands.back().text = one;
    }
    if (end == std::string_view::npos) break;
    text = trimmed(text.substr(end + 1));
  }
  return operands;
}

Operand read_guard(std::string_view guard) {
  if (guard.empty()) {
    Operand always;
    always.kind = Kind::predicate;
    always.index = kTruePredicate;
    return always;
  }
  const Operand operand = read_operand(guard.substr(1));
  if (operand.kind != Kind::predicate && operand.kind != Kind::uniform_predicate)
    throw std::runtime_error(fmt::format("'{}' is not a guard", guard));
  return operand;
}

}  // namespace gpuexp::sim
