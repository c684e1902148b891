#include "lesson/lesson.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/compressed.hpp"
#include "base/output.hpp"
#include "base/text.hpp"
#include "cli/app.hpp"
#include "cli/results_file.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

struct LessonArguments {
  std::string page;
  std::string results;
  std::string out;
};

std::string read_page(const std::string& path) {
  try {
    return read_text(path);
  } catch (const ReportError& e) {
    throw ConfigError(e.what());
  }
}

fs::path folder_of(const std::string& file) {
  return fs::absolute(file).lexically_normal().parent_path();
}

fs::path results_of(const LessonPage& page, const LessonArguments& options) {
  if (!options.results.empty()) return options.results;
  if (page.results.empty()) {
    throw ConfigError(fmt::format(
        "{}: names no results; expected <!-- gpuexp: results FILE --> or --results FILE",
        options.page));
  }
  return fs::path(options.page).parent_path() / page.results;
}

// Throws ConfigError if the results have no row of any family of the page: all its tables would be
// "not recorded". Unknown families are left to render_lesson(), which names their line.
void check_has_family(const LessonPage& page, const Report& report, const Registry& registry,
                      const LessonArguments& options) {
  std::vector<std::string> expected = families_of(page);
  std::erase_if(expected, [&](const std::string& family) { return !registry.find(family); });
  std::set<std::string> found;
  for (const ResultRecord& row : report.table.rows)
    found.insert(printable(row.family));
  const bool has_any = std::ranges::any_of(
      expected, [&](const std::string& family) { return found.count(family) > 0; });
  if (expected.empty() || has_any) return;
  throw ConfigError(fmt::format(
      "--results {}: has no rows of {}, {} of {}; found rows of {}", options.results,
      fmt::join(expected, ", "), noun_for(expected.size(), "the family", "the families"),
      options.page, found.empty() ? "no family" : fmt::format("{}", fmt::join(found, ", "))));
}

// The results' path relative to the folder of the written page.
std::string path_on_page(const fs::path& results, const LessonArguments& options) {
  const fs::path folder = folder_of(options.out.empty() ? options.page : options.out);
  fs::path path = fs::absolute(results).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // the path of a folder may end in a slash
  return path.lexically_relative(folder).generic_string();
}

class RecordedFiles {
 public:
  explicit RecordedFiles(const std::string& page) : folder_(fs::path(page).parent_path()) {}

  RecordedTable read(const std::string& file) {
    const fs::path path = folder_ / file;
    auto found = tables_.find(file);
    if (found == tables_.end())
      found = tables_.emplace(file, read_table(path.lexically_normal())).first;
    return {file, &found->second};
  }

  const Report& report(const std::string& file) {
    auto found = reports_.find(file);
    if (found == reports_.end()) {
      const fs::path path = (folder_ / file).lexically_normal();
      found = reports_.emplace(file, read_results(path.string())).first;
    }
    return found->second;
  }

 private:
  static Table read_table(const fs::path& path) {
    const fs::path name = has_compressed_name(path.string()) ? path.stem() : path;
    return name.extension() == ".csv" ? parse_recorded_csv(read_page(path.string()), path.string())
                                      : table_of(read_results(path.string()).table);
  }

  fs::path folder_;
  std::map<std::string, Table> tables_;
  std::map<std::string, Report> reports_;
};

ExitCode run(const Context& context, const LessonArguments& options) {
  const LessonPage page = parse_lesson(read_page(options.page), options.page);
  Report report;
  std::string results;
  if (needs_results(page)) {
    const fs::path path = results_of(page, options);
    report = read_results(path.string());
    if (!options.results.empty()) check_has_family(page, report, context.registry, options);
    results = path_on_page(path, options);
  }
  RecordedFiles files(options.page);
  const std::string text = render_lesson(
      page, {context.registry, report, results, rates_of(report),
             [&](const std::string& file) { return files.read(file); }, !options.results.empty(),
             [&](const std::string& file) -> const Report& { return files.report(file); }});
  if (!options.out.empty()) {
    write_file_atomically(options.out, text);
    return ExitCode::ok;
  }
  Output out(stdout, "standard output");
  out.write(text);
  out.close();
  return ExitCode::ok;
}

}  // namespace

void add_lesson(Command& app, Context& context) {
  Command* command =
      app.add_subcommand("lesson", "update the tables of a lesson's page from recorded results");
  auto options = std::make_shared<LessonArguments>();
  command->add_option("page", options->page, "Markdown page with markers (docs/lessons)")
      ->required();
  command->add_option("--results", options->results,
                      "results.json or run folder, instead of the results that the page names");
  command->add_option(
      "--out", options->out,
      "file for the updated page, which may be the page itself (default: standard output)");
  command->footer(
      "example: gpuexp run matmul --counters --out results/matmul\n"
      "         gpuexp lesson docs/lessons/matmul.md --results results/matmul --out matmul.md");
  on_chosen(*command, context, [&context, options] { return run(context, *options); });
}

}  // namespace gpuexp::cli
