#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/output.hpp"
#include "cli/app.hpp"
#include "config/config_schema.hpp"
#include "own/declaration_schema.hpp"
#include "results/json_schema.hpp"

namespace gpuexp::cli {

namespace {

struct SchemaArguments {
  std::string of = "config";
  std::string out;
};

ExitCode run(const Context& context, const SchemaArguments& options) {
  const std::string schema = options.of == "results"       ? report_schema()
                             : options.of == "declaration" ? own::declaration_schema()
                                                           : config_schema(context.registry);
  if (options.out.empty()) {
    fmt::print("{}", schema);
  } else {
    create_folder(std::filesystem::absolute(options.out).parent_path());
    write_file_atomically(options.out, schema);
  }
  return ExitCode::ok;
}

}  // namespace

void add_schema(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "schema",
      "the JSON Schema of configs, of results.json or of declarations, for editors and validators");
  auto options = std::make_shared<SchemaArguments>();
  command
      ->add_option("of", options->of,
                   "schema to print: config, results, or declaration of a kernel file (default: "
                   "config)")
      ->type_name("TEXT")
      ->check(CLI::IsMember({"config", "results", "declaration"}));
  command->add_option("--out", options->out, "file for the schema (default: standard output)");
  command->footer("example: gpuexp schema results --out results.schema.json");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
