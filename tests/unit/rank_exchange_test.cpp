#include "run/rank_exchange.hpp"

#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include <unistd.h>

#include "device/device_error.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// Calls f(exchange) for each rank, each in its own thread.
template <class Function>
void on_each(int ranks, const Function& f) {
  const std::string meeting = random_meeting();
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      RankExchange exchange({rank, ranks, meeting}, 5);
      f(exchange);
    });
  }
}

// A rank may send any bytes, such as a memory handle.
std::string text_of(int rank) {
  using namespace std::string_literals;
  return "rank \0\xff "s + std::to_string(rank);
}

TEST_CASE("ranks exchange text and descriptors") {
  const int ranks = GENERATE(2, 3, 8);
  struct Got {
    std::string text;
    char letter = 0;
    std::int64_t of_first = 0;
    bool one_says_so = false;
    bool none_says_so = true;
  };
  std::vector<Got> got(static_cast<std::size_t>(ranks));
  // Each rank reads from the next rank's pipe. One thread checks the results below.
  on_each(ranks, [&](RankExchange& exchange) {
    const int rank = exchange.place().rank;
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return;
    const OwnedDescriptor out(ends[0]);
    {
      const OwnedDescriptor in(ends[1]);
      const char letter = static_cast<char>('a' + rank);
      if (::write(in.get(), &letter, 1) != 1) return;
    }
    const auto told = exchange.all_gather(text_of(rank), out.get());
    const auto& of_next = told[static_cast<std::size_t>((rank + 1) % ranks)];
    Got& own = got[static_cast<std::size_t>(rank)];
    own.text = of_next.text;
    if (::read(of_next.descriptor.get(), &own.letter, 1) != 1) own.letter = '?';
    own.of_first = exchange.from_first(100 + rank);
    own.one_says_so = exchange.is_any(rank == 1);
    own.none_says_so = exchange.is_any(false);
  });
  for (int rank = 0; rank < ranks; ++rank) {
    const int next = (rank + 1) % ranks;
    const Got& own = got[static_cast<std::size_t>(rank)];
    CHECK(own.text == text_of(next));
    CHECK(own.one_says_so);
    CHECK_FALSE(own.none_says_so);
    CHECK(own.letter == static_cast<char>('a' + next));
    CHECK(own.of_first == 100);
  }
}

TEST_CASE("a missing or ended rank is named") {
  const std::string meeting = random_meeting();
  CHECK_THROWS_WITH(RankExchange({0, 2, meeting}, 0.05),
                    "rank 1 did not join the exchange between ranks within 0.05 s");
  CHECK_THROWS_WITH(RankExchange({1, 2, meeting}, 0.05),
                    "rank 0 did not join the exchange between ranks within 0.05 s");
  {
    std::jthread other([&] { const RankExchange leaves({1, 2, meeting}, 5); });
    RankExchange stays({0, 2, meeting}, 5);
    other.join();
    CHECK_THROWS_WITH(stays.all_gather("here"), "rank 1 has ended");
  }
  std::jthread silent([&] {
    RankExchange exchange({1, 2, meeting}, 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  });
  RankExchange waits({0, 2, meeting}, 0.1);
  CHECK_THROWS_WITH(waits.all_gather("here"), "rank 1 has sent nothing for 0.1 s");
}

TEST_CASE("meetings have unique names") {
  std::set<std::string> names;
  for (int i = 0; i < 100; ++i)
    names.insert(random_meeting());
  CHECK(names.size() == 100);
}

}  // namespace
}  // namespace gpuexp::test
