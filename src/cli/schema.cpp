#include <fmt/format.h>

#include "cli/app.hpp"
#include "report/output.hpp"

namespace gpuexp::cli {

void add_schema(CLI::App& app, Context& context) {
  CLI::App* command =
      app.add_subcommand("schema", "the JSON Schema of configs, for editors and validators");
  auto out = std::make_shared<std::string>();
  command->add_option("--out", *out, "write it there instead of to standard output");
  command->footer("example: gpuexp schema --out configs/schema/experiment.schema.json");
  command->callback([&context, out] {
    context.action = [&context, out] {
      const std::string schema = config_schema(context.registry);
      if (out->empty()) {
        fmt::print("{}", schema);
      } else {
        std::filesystem::create_directories(std::filesystem::absolute(*out).parent_path());
        write_file_atomically(*out, schema);
      }
      return ExitCode::ok;
    };
  });
}

}  // namespace gpuexp::cli
