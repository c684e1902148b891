// One include for Catch2, whichever major version is installed.
#pragma once

#include <string>

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto contains_text(const std::string& part) {
  return Catch::Matchers::ContainsSubstring(part);
}
#else
#include <catch2/catch.hpp>
inline auto contains_text(const std::string& part) {
  return Catch::Matchers::Contains(part);
}
#endif
