#include "infer/monomial.hpp"

#include <algorithm>
#include <numeric>

#include "infer/host_tree.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::infer {

namespace {

void add(Monomial& monomial, const own::Node& node) {
  using own::NodeKind;
  const bool is_quotient = node.kind == NodeKind::divide &&
                           node.operand(1).kind == NodeKind::integer && node.operand(1).integer > 0;
  if (node.kind == NodeKind::integer) {
    monomial.multiplier *= node.integer;
  } else if (node.kind == NodeKind::multiply) {
    add(monomial, node.operand(0));
    add(monomial, node.operand(1));
  } else if (is_quotient) {
    add(monomial, node.operand(0));
    monomial.divisor *= node.operand(1).integer;
  } else {
    monomial.factors.push_back(text_of(node));
  }
}

}  // namespace

Monomial monomial_of(const std::string& text) {
  return monomial_of(std::vector{text});
}

Monomial monomial_of(const std::vector<std::string>& texts) {
  Monomial monomial;
  for (const std::string& text : texts)
    add(monomial, *own::parse_tree(text, 0, false).root);
  const std::int64_t common = std::gcd(monomial.multiplier, monomial.divisor);
  monomial.multiplier /= std::max<std::int64_t>(common, 1);
  monomial.divisor /= std::max<std::int64_t>(common, 1);
  std::ranges::sort(monomial.factors);
  return monomial;
}

}  // namespace gpuexp::infer
