#include "base/names.hpp"

#include <string>
#include <vector>

#include "base/text.hpp"
#include "support/catch.hpp"

namespace gpuexp {

TEST_CASE("glob_match compares the whole text", "[names]") {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  for (const Case& c : std::vector<Case>{{"naive", "naive", true},
                                         {"naive", "naive2", false},
                                         {"naive", "naiv", false},
                                         {"", "", true},
                                         {"", "a", false},
                                         {"*", "", true},
                                         {"*", "anything", true},
                                         {"**", "a", true},
                                         {"smem_*", "smem_", true},
                                         {"smem_*", "smem_tile", true},
                                         {"smem_*", "xsmem_", false},
                                         {"*tile", "smem_tile", true},
                                         {"*tile", "tiles", false},
                                         {"*a*b", "xaxb", true},
                                         {"*ab", "aab", true},
                                         {"*aab*", "aaab", true},
                                         {"a*b*c", "abbbc", true},
                                         {"a*b*c", "ac", false},
                                         {"?", "a", true},
                                         {"?", "", false},
                                         {"a?c", "abc", true},
                                         {"[abc]", "b", true},
                                         {"[abc]", "d", false},
                                         {"[a-c]x", "cx", true},
                                         {"[a-c]x", "dx", false},
                                         {"[!a-c]", "d", true},
                                         {"[!a-c]", "a", false},
                                         {"[]]", "]", true},
                                         {"[a-]", "-", true},
                                         {"[-a]", "-", true},
                                         {"[", "[", true},
                                         {"[ab", "[ab", true},
                                         {"[ab", "a", false},
                                         {"[!", "[!", true},
                                         {"*[0-9]", "v10", true},
                                         {"*[0-9]", "v1x", false},
                                         {"*/naive", "mm/naive", true},
                                         {"mm/*", "mm/x", true},
                                         {"[]", "[]", true}}) {
    CAPTURE(c.pattern, c.text);
    CHECK(glob_match(c.pattern, c.text) == c.matches);
  }
}

TEST_CASE("glob_match stays fast with many stars", "[names]") {
  std::string pattern;
  for (int i = 0; i < 1000; ++i)
    pattern += "*a";
  CHECK_FALSE(glob_match(pattern + "b", std::string(2000, 'a')));
}

TEST_CASE("nearest_name suggests only close names", "[names]") {
  const std::vector<std::string> keys{"family", "variants", "baseline", "axes", "modes", "n", "k"};
  CHECK(nearest_name("familly", keys) == "family");
  CHECK(nearest_name("varaints", keys) == "variants");
  CHECK(nearest_name("Baseline", keys) == "baseline");
  CHECK(nearest_name("MODES", keys) == "modes");
  CHECK(nearest_name("axis", keys) == "axes");
  CHECK(nearest_name("N", keys) == "n");
  CHECK(nearest_name("nn", keys) == "n");
  CHECK_FALSE(nearest_name("q", keys));
  CHECK_FALSE(nearest_name("", keys));
  CHECK_FALSE(nearest_name("experiments", keys));
  CHECK_FALSE(nearest_name(std::string(100'000, 'a'), {std::string(100'001, 'a')}));
  CHECK_FALSE(nearest_name("a", {}));
  CHECK(nearest_name("A100", {"a10", "a100_sxm4", "a100"}) == "a100");
  CHECK(nearest_name("a100", {"a10", "a100_sxm4_40gb", "a100_sxm4_80gb"}) == "a100_sxm4_40gb");
  CHECK(nearest_name("fa", {"far", "family"}) == "far");
  CHECK(nearest_name("smem_tile3", {"smem_tile1", "smem_tile2"}) == "smem_tile1");
}

TEST_CASE("allowed_names lists names at the end of an error", "[names]") {
  CHECK(allowed_names("colt", {"cold", "warm"}) == "; did you mean 'cold'? allowed: cold, warm");
  CHECK(allowed_names("tepid", {"cold", "warm"}) == "; allowed: cold, warm");
  CHECK(allowed_names("tepid", {}) == "; none is allowed");
}

TEST_CASE("a name equals one of several, or matches a glob", "[names]") {
  CHECK(is_one_of("cold", {"cold", "warm"}));
  CHECK_FALSE(is_one_of("colder", {"cold", "warm"}));
  CHECK(is_one_of("a/b.mtx", {"banded", "*.mtx"}));
  CHECK(is_one_of("a/B.MTX", {"banded", "*.mtx"}));
  CHECK_FALSE(is_one_of("Banded", {"banded", "*.mtx"}));
  CHECK_FALSE(is_one_of("a/b.mt", {"banded", "*.mtx"}));
  CHECK_FALSE(is_one_of("", {}));
}

TEST_CASE("names with one text are listed with it, each once", "[names]") {
  std::vector<NamedText> texts;
  add_name(texts, "too large", "a");
  add_name(texts, "no code", "b");
  add_name(texts, "too large", "c");
  add_name(texts, "too large", "a");
  REQUIRE(texts.size() == 2);
  CHECK(texts[0].text == "too large");
  CHECK(texts[0].names == std::vector<std::string>{"a", "c"});
  CHECK(texts[1].names == std::vector<std::string>{"b"});
}

TEST_CASE("shorten cuts between characters", "[names]") {
  CHECK(shorten("short") == "short");
  CHECK(shorten(std::string(80, 'a')) == std::string(80, 'a'));
  CHECK(shorten(std::string(81, 'a')) == std::string(80, 'a') + "…");
  CHECK(shorten(std::string(79, 'a') + "éé") == std::string(79, 'a') + "…");
}

TEST_CASE("words of a shell are quoted if they have special characters", "[names]") {
  for (const char* plain : {"h200", "results/run-1", "n=1,2", "-", "a@b:80%"})
    CHECK(shell_word(plain) == plain);
  CHECK(shell_word("NVIDIA H200") == "'NVIDIA H200'");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("it's") == R"('it'\''s')");
  CHECK(shell_word("$HOME") == "'$HOME'");
}

}  // namespace gpuexp
