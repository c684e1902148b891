// What variants declare of counters: what counts as having happened, and its text in results.
#include "family/move.hpp"

#include <cmath>

#include "family/registry.hpp"
#include "results/declarations.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

Move move(Direction direction, double factor = 1.05) {
  return {"dram_read_bytes", direction, factor, {}};
}

TEST_CASE("A move happened when the counter went that way by the factor", "[move]") {
  CHECK(happened(move(Direction::falls, 2), 10, 5));
  CHECK_FALSE(happened(move(Direction::falls, 2), 10, 5.1));
  CHECK_FALSE(happened(move(Direction::falls, 2), 5, 10));
  CHECK(happened(move(Direction::rises, 2), 5, 10));
  CHECK_FALSE(happened(move(Direction::rises, 2), 5, 9.9));
  CHECK(happened(move(Direction::stays), 100, 104));
  CHECK(happened(move(Direction::stays), 104, 100));
  CHECK_FALSE(happened(move(Direction::stays), 100, 106));
}

TEST_CASE("A counter at zero has nowhere to fall, and rises by any factor", "[move]") {
  CHECK(happened(move(Direction::falls, 8), 3, 0));
  CHECK_FALSE(happened(move(Direction::falls, 8), 0, 0));
  CHECK(happened(move(Direction::rises, 8), 0, 1));
  CHECK_FALSE(happened(move(Direction::rises, 8), 0, 0));
  CHECK(happened(move(Direction::stays), 0, 0));
  CHECK_FALSE(happened(move(Direction::stays), 0, 1));
}

TEST_CASE("What is no number never happened", "[move]") {
  for (const Direction direction : kDirections) {
    CHECK_FALSE(happened(move(direction), std::nan(""), 1));
    CHECK_FALSE(happened(move(direction), 1, std::nan("")));
  }
}

TEST_CASE("Moves are read from the text that holds them", "[move]") {
  const std::vector<Move> moves{{"l2_sectors", Direction::falls, 1.9, {}},
                                {"warp_instructions", Direction::stays, 1.05, {}}};
  CHECK(text_of(moves) == "l2_sectors falls 1.9;warp_instructions stays 1.05");
  CHECK(moves_in(text_of(moves)) == moves);
  CHECK(moves_in(";;l2_sectors falls 1.9;") == std::vector<Move>{moves.front()});
  CHECK(moves_in("") == std::vector<Move>{});
  CHECK(text_of(std::vector<Move>{}).empty());
}

TEST_CASE("A text of which a part is no move is none", "[move]") {
  for (const char* text :
       {"nonsense", "l2_sectors", "l2_sectors falls", "l2_sectors falls x", "l2_sectors falls 0.5",
        "l2_sectors falls nan", "l2_sectors falls inf", "l2_sectors jumps 2", "l2_sectors falls 2 ",
        "l2_sectors falls 2;l2_sectors jumps 2"}) {
    INFO(text);
    CHECK(moves_in(text) == std::nullopt);
  }
}

TEST_CASE("Moves are promised where their condition says", "[move]") {
  const Family family = toy_family();
  const Variant& second = *family.find("second");
  const auto narrow = family.make_problem({std::int64_t{8}, 0.5, std::string("narrow")});
  const auto wide = family.make_problem({std::int64_t{8}, 0.5, std::string("wide")});
  CHECK(text_of(moves_at(second.moves, narrow.get())) == "warp_instructions stays 1.05");
  CHECK(text_of(moves_at(second.moves, wide.get())) ==
        "dram_read_bytes falls 2;warp_instructions stays 1.05");
}

TEST_CASE("Results that lack declarations are given them by their names", "[move]") {
  Registry registry;
  registry.add(toy_family());
  Table table;
  constexpr FieldType kText = FieldType::text;
  table.columns = {{"family", "", kText, ""},
                   {"variant", "", kText, ""},
                   {"param.n", "", FieldType::integer, ""},
                   {"param.share", "", FieldType::real, ""},
                   {"param.width", "", kText, ""}};
  const Field kNone;
  const std::int64_t n = 64;
  table.rows = {{"toy", "second", n, 0.5, "wide"},        {"toy", "first", n, 0.5, "wide"},
                {"toy", "of_tomorrow", n, 0.5, "wide"},   {"unknown", "second", n, 0.5, "wide"},
                {"toy", "second", n, 0.5, "of_tomorrow"}, {"toy", "second", n, 2.0, "wide"},
                {"toy", "second", kNone, 0.5, "wide"},    {kNone, kNone, kNone, kNone, kNone},
                {"toy", "vendor", n, 0.5, "wide"}};
  RecordTable records = record_table(table);
  add_declarations(records, registry);
  const auto& rows = records.rows;
  CHECK(rows[0].compare_to == "first");
  CHECK(text_of(rows[0].moves) == "dram_read_bytes falls 2;warp_instructions stays 1.05");
  for (const std::size_t row : {1, 2, 3, 7}) {
    CHECK(rows[row].compare_to.empty());
    CHECK(rows[row].moves.empty());
  }
  for (const std::size_t row : {4, 5, 6}) {
    CHECK(rows[row].compare_to == "first");
    CHECK(rows[row].moves.empty());
  }
  CHECK(rows[0].implementation == Implementation::kernel);
  CHECK(rows[2].implementation == std::nullopt);
  CHECK(rows[8].implementation == Implementation::library);
  CHECK(records.columns.size() == table.columns.size());
  const RecordTable before = records;
  add_declarations(records, registry);
  CHECK(records == before);
}

TEST_CASE("A family that declares moves amiss is a defect", "[move]") {
  const auto errors_with = [](const auto& change) {
    Family family = toy_family();
    change(family.variants.at(1));
    Registry registry;
    registry.add(std::move(family));
    std::string all;
    for (const std::string& error : registry.errors())
      all += error + "\n";
    return all;
  };
  // The toy family lacks more than this is about.
  CHECK(errors_with([](Variant&) {}).find("counter") == std::string::npos);
  CHECK_THAT(errors_with([](Variant& v) { v.moves.clear(); }),
             contains_text("does not say which counter moves from variant 'first' to 'second'"));
  CHECK_THAT(errors_with([](Variant& v) { v.compare_to.clear(); }),
             contains_text("and not against which variant"));
  CHECK_THAT(errors_with([](Variant& v) { v.moves[0].counter = "sectors"; }),
             contains_text("'sectors', which is no counter"));
  CHECK_THAT(errors_with([](Variant& v) { v.moves[0].factor = 0.5; }),
             contains_text("by a factor below 1"));
}

}  // namespace
}  // namespace gpuexp::test
