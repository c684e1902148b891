// The command line as subcommands declare it: CLI11 behind one unit, because each unit that
// includes CLI11 takes four seconds to compile. Methods are named as CLI11's and mean the same.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace gpuexp::cli {

class Command;

class Option {
 public:
  Option(Command& command, CLI::Option& option) : command_(&command), option_(&option) {}

  Option* required(bool value = true);
  Option* type_name(const std::string& name);
  Option* delimiter(char c);
  /// false: each occurrence takes one argument, and what follows it belongs to others.
  Option* allow_extra_args(bool value);
  Option* one_of(const std::vector<std::string>& allowed);
  Option* in_range(double min, double max);
  Option* positive();
  Option* needs(Option* other);
  Option* excludes(Option* other);
  Option* excludes(const std::string& name);
  bool given() const;

 private:
  Command* command_;
  CLI::Option* option_;
};

/// The program or a subcommand. Variables outlive parsing; those whose option is not given keep
/// their value.
class Command {
 public:
  explicit Command(CLI::App& app);
  ~Command();

  Command* add_subcommand(const std::string& name, const std::string& description);
  Option* add_option(const std::string& name, std::string& variable,
                     const std::string& description);
  Option* add_option(const std::string& name, std::vector<std::string>& variable,
                     const std::string& description);
  Option* add_option(const std::string& name, int& variable, const std::string& description);
  Option* add_option(const std::string& name, double& variable, const std::string& description);
  Option* add_option(const std::string& name, std::optional<double>& variable,
                     const std::string& description);
  Option* add_option(const std::string& name, std::optional<std::string>& variable,
                     const std::string& description);
  /// Calls `take` with the argument; what it throws ends parsing.
  Option* add_option_function(const std::string& name, std::function<void(const std::string&)> take,
                              const std::string& description);
  Option* add_flag(const std::string& name, bool& variable, const std::string& description);
  /// "--name{default}": without =VALUE the variable gets the default.
  Option* add_flag(const std::string& name, std::string& variable, const std::string& description);
  Option* get_option(const std::string& name);

  void footer(const std::string& text);
  void hide();
  void require_subcommand(int min, int max);
  /// Called once the command line that chose this command is parsed.
  void callback(std::function<void()> action);
  bool has_chosen_subcommand() const;
  /// Names of the subcommands, without hidden ones.
  std::vector<std::string> subcommand_names() const;
  bool has_subcommand(const std::string& name) const;

 private:
  Option* keep(CLI::Option* option);

  CLI::App* app_;
  std::vector<std::unique_ptr<Command>> subcommands_;
  std::vector<std::unique_ptr<Option>> options_;
};

/// A mistake that callbacks find, reported as the parser's own.
[[noreturn]] void fail_required(const std::string& option);
[[noreturn]] void fail_requires(const std::string& option, const std::string& needed);

/// The whole command line.
class CommandLine {
 public:
  CommandLine(const std::string& description, const std::string& name, const std::string& version);
  ~CommandLine();
  Command& root() { return root_; }
  /// Empty where a command was chosen; else, after printing help, version or what is wrong, whether
  /// all was well.
  std::optional<bool> parse(int argc, char** argv);

 private:
  std::unique_ptr<CLI::App> app_;
  Command root_;
};

}  // namespace gpuexp::cli
