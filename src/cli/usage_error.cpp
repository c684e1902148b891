#include "cli/usage_error.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp::cli {

namespace {

/// Names of the options, without dashes.
std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames())
      names.push_back(name);
  }
  return names;
}

/// The option of this command that the user probably means, without dashes.
std::optional<std::string> nearest_option(std::string_view given, const Command& command) {
  const std::vector<std::string> names = option_names(command);
  // Commands that execute kernels have one, and those that predict have the other.
  constexpr std::array<std::string_view, 2> kChooseGpu{"gpu", "simulate"};
  if (std::ranges::find(kChooseGpu, given) != kChooseGpu.end()) {
    for (const std::string& name : names)
      if (std::ranges::find(kChooseGpu, name) != kChooseGpu.end()) return name;
  }
  return nearest_name(given, names);
}

std::string unknown_option(const std::string& argument, const Command& command) {
  const std::string option = argument.substr(0, argument.find('='));
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  const auto near = nearest_option(name, command);
  return fmt::format("unknown option '{}' of {}; {}gpuexp {} --help lists its options",
                     shorten(option), command.get_name(),
                     near ? fmt::format("did you mean '--{}'? ", *near) : "", command.get_name());
}

/// What is wrong with an argument that the command does not take.
std::string unexpected_argument(const std::string& argument, const Command& command) {
  if (argument.starts_with('-') && names_kernel_file(argument))
    return fmt::format(
        "{0}: a name that begins with '-' is read as an option; write ./{0}, or '-- {0}' after all "
        "options",
        argument);
  if (argument.starts_with('-')) return unknown_option(argument, command);
  std::vector<std::string> expected;
  for (const Option* option : command.get_options())
    if (option->get_positional())
      expected.push_back(fmt::format("{} ({})", option->get_name(), option->get_description()));
  return fmt::format(
      "{}: unexpected argument '{}'; expected {}", command.get_name(), shorten(argument),
      expected.empty() ? "none" : fmt::format("one {}", fmt::join(expected, ", one ")));
}

/// An argument that the command takes once, and that is given several times.
const Option* repeated_argument(const Command& command) {
  for (const Option* option : command.get_options()) {
    const bool is_single = option->get_positional() && option->get_expected_max() == 1;
    if (is_single && option->count() > 1) return option;
  }
  return nullptr;
}

/// The argument, if the error is that it is missing.
const Option* missing_argument(const Command& command, const CLI::Error& error) {
  for (const Option* option : command.get_options())
    if (option->get_positional() && option->get_name() + " is required" == error.what())
      return option;
  return nullptr;
}

}  // namespace

std::string usage_message(const Command& app, const CLI::Error& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (chosen.empty()) return "gpuexp: " + CLI::FailureMessage::simple(&app, error);
  const Command& command = *chosen.front();
  // An unknown option is reported first: its value may count as an argument that is too many.
  std::vector<std::string> left = app.remaining(true);
  std::erase(left, "--");
  const auto is_option = [](const std::string& text) { return text.starts_with('-'); };
  std::ranges::stable_partition(left, is_option);
  if (!left.empty() && is_option(left.front()))
    return fmt::format("gpuexp: {}\n", unexpected_argument(left.front(), command));
  if (const Option* const option = repeated_argument(command))
    return fmt::format("gpuexp: {}: expected {}; found {}: {}\n", command.get_name(),
                       option->get_description(), option->count(),
                       fmt::join(option->results(), ", "));
  if (!left.empty()) return fmt::format("gpuexp: {}\n", unexpected_argument(left.front(), command));
  if (const Option* const option = missing_argument(command, error))
    return fmt::format("gpuexp: {}: expected {}\n", command.get_name(), option->get_description());
  return "gpuexp: " + CLI::FailureMessage::simple(&app, error);
}

}  // namespace gpuexp::cli
