// Claims in comments over variants: their grammar, and when they hold.
#include "family/held_claim.hpp"

#include <cmath>

#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("A claim has a quantity, a number, a variant and a problem", "[held_claims]") {
  const auto claim =
      held_claim_in("global_load_requests = 1/4 × shuffles within 5 % at n=64, dtype=bf16");
  REQUIRE(claim);
  CHECK(claim->quantity == "global_load_requests");
  CHECK(claim->relation == HeldRelation::equal);
  CHECK(claim->number == 0.25);
  CHECK(claim->of == "shuffles");
  CHECK(claim->tolerance == 0.05);
  CHECK(claim->at ==
        std::vector<std::pair<std::string, std::string>>{{"n", "64"}, {"dtype", "bf16"}});
  const auto plain = held_claim_in("barriers_per_block = 3");
  REQUIRE(plain);
  CHECK(plain->number == 3);
  CHECK(plain->of.empty());
  CHECK(plain->tolerance == kHeldTolerance);
}

TEST_CASE("Text with an invalid part is not a claim", "[held_claims]") {
  for (const char* text :
       {"", "blocks", "blocks =", "blocks = many", "blocks ~ 3", "blocks = 1/0", "blocks = nan",
        "blocks = 1 x naive", "blocks = 1 ×", "blocks = 1 within 5", "blocks = 1 within 0 %",
        "blocks = 1 at", "blocks = 1 at n", "blocks = 1 at n=", "blocks = 1 at n=1 within 5 %",
        "blocks = 1 of naive", "blocks <= 1 within 5 %", "blocks = 1 within 5 % within 6 %",
        "blocks = 1 × naive × tiled"}) {
    INFO(text);
    CHECK_FALSE(held_claim_in(text));
  }
}

TEST_CASE("A claim holds within its tolerance, or on its side of the bound", "[held_claims]") {
  const auto holds = [](const char* text, double value) {
    return held_claim_in(text)->holds(value);
  };
  CHECK(holds("blocks = 99", 99));
  CHECK_FALSE(holds("blocks = 99", 98));
  CHECK(holds("blocks = 1000", 1009));
  CHECK_FALSE(holds("blocks = 1000", 1010));
  CHECK(holds("blocks = 10 within 10 %", 11));
  CHECK_FALSE(holds("blocks = 10 within 10 %", 11.1));
  CHECK(holds("blocks = 0", 0));
  CHECK_FALSE(holds("blocks = 0", 0.1));
  CHECK(holds("blocks <= 3", 2));
  CHECK_FALSE(holds("blocks <= 3", 4));
  CHECK(holds("blocks >= 3", 4));
  CHECK_FALSE(holds("blocks >= 3", 2));
  for (const char* text : {"blocks = 1", "blocks <= 1", "blocks >= 1"})
    CHECK_FALSE(holds(text, std::nan("")));
}

TEST_CASE("Claims of comments are stored by family and variant; unknown names are errors",
          "[held_claims]") {
  const auto errors = [](const std::string& claim) {
    Registry registry;
    Family family = toy_family();
    for (Variant& variant : family.variants)
      variant.why = variant.id == "second" ? "" : "computed";
    registry.add(family);
    const std::size_t of_toy = registry.errors().size() - 1;  // `second` has no `why`
    registry.add_source(family.id, "// ---- second: title\n//\n// Why.\n// held: " + claim);
    CHECK(registry.find(family.id)->find("second")->why == "Why.");
    CHECK(registry.held_claims(family.id, "first").empty());
    std::vector<std::string> found = registry.errors();
    CHECK(registry.held_claims(family.id, "second").size() + found.size() == of_toy + 2);
    std::erase_if(found,
                  [](const auto& e) { return e.find("is not a claim") == std::string::npos; });
    return found;
  };
  for (const char* claims :
       {"blocks = 3; kernels = 1", "blocks = 3;warp_instructions = 1 × first at n=8"})
    CHECK(errors(claims).empty());
  for (const char* claims :
       {"blocks; kernels = 1", "kernels = 1; block = 3", "blocks = 1; metric.gone = 3",
        "blocks = 1 × third; kernels = 1", "blocks = 1 × first at k=8; kernels = 1"}) {
    const auto found = errors(claims);
    REQUIRE(found.size() == 1);
    CHECK_THAT(found.front(), contains_text("above variant 'second' is not a claim; expected"));
  }
}

}  // namespace
}  // namespace gpuexp::test
