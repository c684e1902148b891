#include "cli/command_line.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>

namespace gpuexp::cli {

Option* Option::required(bool value) {
  option_->required(value);
  return this;
}
Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
  return this;
}
Option* Option::delimiter(char c) {
  option_->delimiter(c);
  return this;
}
Option* Option::allow_extra_args(bool value) {
  option_->allow_extra_args(value);
  return this;
}
Option* Option::one_of(const std::vector<std::string>& allowed) {
  option_->check(CLI::IsMember(allowed));
  return this;
}
Option* Option::in_range(double min, double max) {
  option_->check(CLI::Range(min, max));
  return this;
}
Option* Option::positive() {
  option_->check(CLI::PositiveNumber);
  return this;
}
Option* Option::needs(Option* other) {
  option_->needs(other->option_);
  return this;
}
Option* Option::excludes(Option* other) {
  option_->excludes(other->option_);
  return this;
}
Option* Option::excludes(const std::string& name) {
  return excludes(command_->get_option(name));
}
bool Option::given() const {
  return option_->count() > 0;
}

Command::Command(CLI::App& app) : app_(&app) {}
Command::~Command() = default;

Option* Command::keep(CLI::Option* option) {
  return options_.emplace_back(std::make_unique<Option>(*this, *option)).get();
}

Command* Command::add_subcommand(const std::string& name, const std::string& description) {
  return subcommands_
      .emplace_back(std::make_unique<Command>(*app_->add_subcommand(name, description)))
      .get();
}
Option* Command::add_option(const std::string& name, std::string& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option(const std::string& name, std::vector<std::string>& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option(const std::string& name, int& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option(const std::string& name, double& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option(const std::string& name, std::optional<double>& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option(const std::string& name, std::optional<std::string>& variable,
                            const std::string& description) {
  return keep(app_->add_option(name, variable, description));
}
Option* Command::add_option_function(const std::string& name,
                                     std::function<void(const std::string&)> take,
                                     const std::string& description) {
  return keep(app_->add_option_function<std::string>(name, take, description));
}
Option* Command::add_flag(const std::string& name, bool& variable, const std::string& description) {
  return keep(app_->add_flag(name, variable, description));
}
Option* Command::add_flag(const std::string& name, std::string& variable,
                          const std::string& description) {
  return keep(app_->add_flag(name, variable, description));
}
Option* Command::get_option(const std::string& name) {
  return keep(app_->get_option(name));
}

void Command::footer(const std::string& text) {
  app_->footer(text);
}
void Command::hide() {
  app_->group("");
}
void Command::require_subcommand(int min, int max) {
  app_->require_subcommand(static_cast<std::size_t>(min), static_cast<std::size_t>(max));
}
void Command::callback(std::function<void()> action) {
  app_->callback(std::move(action));
}
bool Command::has_chosen_subcommand() const {
  return !app_->get_subcommands().empty();
}

std::vector<std::string> Command::subcommand_names() const {
  std::vector<std::string> names;
  for (const CLI::App* command : app_->get_subcommands({})) {
    const bool is_hidden = command->get_group().empty();
    if (!is_hidden) names.push_back(command->get_name());
  }
  return names;
}
bool Command::has_subcommand(const std::string& name) const {
  const auto all = app_->get_subcommands({});
  return std::any_of(all.begin(), all.end(),
                     [&](const CLI::App* command) { return command->get_name() == name; });
}

void fail_required(const std::string& option) {
  throw CLI::RequiredError(option);
}
void fail_requires(const std::string& option, const std::string& needed) {
  throw CLI::RequiresError(option, needed);
}

CommandLine::CommandLine(const std::string& description, const std::string& name,
                         const std::string& version)
    : app_(std::make_unique<CLI::App>(description, name)), root_(*app_) {
  app_->set_version_flag("--version", version);
}
CommandLine::~CommandLine() = default;

std::optional<bool> CommandLine::parse(int argc, char** argv) {
  try {
    app_->parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return app_->exit(e) == 0;
  }
  return std::nullopt;
}

}  // namespace gpuexp::cli
