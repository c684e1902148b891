#include "analysis/comparison_columns.hpp"

namespace gpuexp {

namespace {

constexpr FieldType kText = FieldType::text;
constexpr FieldType kInteger = FieldType::integer;
constexpr FieldType kReal = FieldType::real;

// A value of what may be missing.
template <class Member, class Get>
ComparisonColumn of(std::optional<Member> ComparedRow::*member, ColumnInfo info, Get get) {
  return {std::move(info), [=](const ComparedRow& row) {
            return row.*member ? Field{get(*(row.*member))} : Field{};
          }};
}

void append_outcome(std::vector<ComparisonColumn>& c) {
  c.push_back({{"outcome", "", kText,
                "slower, faster, same, inconclusive, missing (in A alone), added (in B alone), "
                "broken (passed in A alone), repaired (passed in B alone) or untested (passed in "
                "neither)"},
               [](const ComparedRow& r) { return text_field(name_of(r.outcome)); }});
  c.push_back({{"why", "", kText, "why there is no verdict"},
               [](const ComparedRow& r) { return text_field(r.reason); }});
  c.push_back({{"status_a", "", kText, "status in A"}, [](const ComparedRow& r) {
                 return text_field(r.status_a ? name_of(*r.status_a) : "");
               }});
  c.push_back({{"status_b", "", kText, "status in B"}, [](const ComparedRow& r) {
                 return text_field(r.status_b ? name_of(*r.status_b) : "");
               }});
}

void append_side(std::vector<ComparisonColumn>& c, const std::string& side, const char* run,
                 std::optional<Statistics> ComparedRow::*member) {
  const auto end = [&](const char* name, const char* doc, double Interval::*which) {
    c.push_back(
        {{"time_" + side + "_ci95_" + name + "_us", "us", kReal, doc}, [=](const ComparedRow& r) {
           return r.*member && (r.*member)->median_ci95 ? Field{(*(r.*member)->median_ci95).*which}
                                                        : Field{};
         }});
  };
  c.push_back(of(member,
                 {"time_" + side + "_us", "us", kReal, std::string("median time in ") + run},
                 [](const Statistics& s) { return s.median; }));
  end("low", "lower end of its 95 % interval", &Interval::low);
  end("high", "upper end of its 95 % interval", &Interval::high);
  c.push_back(of(member, {"samples_" + side, "", kInteger, std::string("samples in ") + run},
                 [](const Statistics& s) { return static_cast<std::int64_t>(s.count); }));
}

void append_ratio(std::vector<ComparisonColumn>& c) {
  c.push_back(of(&ComparedRow::ratio,
                 {"ratio", "x", kReal, "median time in B over median time in A"},
                 [](const Ratio& r) { return r.value; }));
  c.push_back(of(&ComparedRow::ratio,
                 {"ratio_ci95_low", "x", kReal, "lower end of the 95 % interval of the ratio"},
                 [](const Ratio& r) { return r.ci95.low; }));
  c.push_back(of(&ComparedRow::ratio,
                 {"ratio_ci95_high", "x", kReal, "upper end of the 95 % interval of the ratio"},
                 [](const Ratio& r) { return r.ci95.high; }));
  c.push_back(of(&ComparedRow::clock_ratio,
                 {"clock_ratio", "x", kReal,
                  "SM clock in B over SM clock in A; a difference has to show in cycles, too"},
                 [](double ratio) { return ratio; }));
  c.push_back(
      of(&ComparedRow::floor_shift_us,
         {"floor_shift_us", "us", kReal,
          "times of as many empty kernels as a launch has, B's less A's; a difference has to be "
          "more, and what is the same less it is the same"},
         [](double us) { return us; }));
  c.push_back(of(&ComparedRow::effect,
                 {"min_effect_pct", "%", kReal, "the least difference that is called one"},
                 [](double effect) { return 100 * effect; }));
}

std::vector<ComparisonColumn> declare_columns() {
  std::vector<ComparisonColumn> columns;
  append_outcome(columns);
  append_side(columns, "a", "A", &ComparedRow::a);
  append_side(columns, "b", "B", &ComparedRow::b);
  append_ratio(columns);
  return columns;
}

}  // namespace

const std::vector<ComparisonColumn>& comparison_columns() {
  static const std::vector<ComparisonColumn> kColumns = declare_columns();
  return kColumns;
}

}  // namespace gpuexp
