#include <fmt/format.h>

#include "cli/app.hpp"

namespace gpuexp::cli {

void add_schema(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("schema", "the JSON Schema of configs, for editors and validators");
  command->footer("example: gpuexp schema > configs/schema/experiment.schema.json");
  command->callback([&context] {
    context.action = [&context] {
      fmt::print("{}", config_schema(context.registry));
      return ExitCode::ok;
    };
  });
}

}  // namespace gpuexp::cli
