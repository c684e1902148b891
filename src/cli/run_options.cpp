// Options of `run` and `verify`.
#include <memory>

#include <CLI/CLI.hpp>

#include "cli/run.hpp"
#include "cli/simulation.hpp"
#include "plan/shard.hpp"

namespace gpuexp::cli {

void add_device_options(Command& command, RunArguments& options) {
  command.add_option("--device", options.device.device,
                     "ordinal of the GPU (gpuexp info; default: 0)");
  add_launch_timeout(command, options.device.launch_timeout_s, "the cell's status is timeout");
  command.add_flag("--no-isolate", options.no_isolate,
                   "run in this process: a fault ends the run, and rows are flagged ungated");
  command
      .add_option("--simulate", options.simulate,
                  "execute the kernels on the CPU, simulating the GPU of this device spec (gpuexp "
                  "list); results are verified, and no times are measured")
      ->type_name("SPEC")
      ->excludes("--device")
      ->excludes("--no-isolate");
  command
      .add_option("--blocks", options.blocks,
                  "with --simulate: approximate number of blocks to execute per grid, or all "
                  "(default: all blocks of small launches; for larger launches, enough random "
                  "blocks for a standard error of each count below 0.3 %)")
      ->type_name("N|all");
  options.launch.add_to(command);
  command.add_flag("--quiet", options.quiet, "print no progress and no table");
}

void add_run(Command& app, Context& context) {
  Command* command =
      app.add_subcommand("run", "verify and time every cell of configs, write CSV and JSON");
  auto options = std::make_shared<RunArguments>();
  options->config.add_to(*command);
  command->add_option("--out", options->out,
                      "folder for log.jsonl, results.csv, results.json, kernels.csv (with "
                      "--counters), and wrong elements in mismatches/ (default: results/NAME-UTC)");
  command->add_option("--csv", options->csv,
                      "also write the CSV to this file; - is standard output");
  command->add_option("--json", options->json,
                      "also write the JSON to this file; - is standard output");
  // A flag, so that a value requires '=' and a config's name may follow the option.
  command->add_flag(
      std::string("--counters{") + kAllCounters + "}", options->counters,
      "read hardware counters after timing, in separate launches; =NAME,… selects groups, counters "
      "or Nsight Compute metrics (gpuexp list metrics); same as --set counters=…");
  command->add_flag("--need-libraries", options->need_libraries,
                    "exit with an error if the library of a variant is missing, instead of "
                    "skipping the variant: use it for results that later runs are compared with");
  command->add_flag("--no-samples", options->no_samples, "leave raw samples out of the JSON");
  command->add_flag("--no-source", options->no_source,
                    "leave the source text of kernel files out of the results");
  command->add_flag("--profile", options->profile,
                    "launch each cell once, for nsys and ncu, within one cudaProfilerStart/Stop "
                    "range; no times are measured");
  add_device_options(*command, *options);
  command->add_flag("--no-gate", options->no_gate,
                    "never block the stream while launches are enqueued; times then include the "
                    "host's launch latency");
  Option* const against = command->add_option(
      "--against", options->against,
      "at the end, compare with these earlier results: a results.json or a run folder");
  against->excludes("--profile");
  for (const char* option : {"--profile", "--no-gate", "--against", "--need-libraries"})
    command->get_option("--simulate")->excludes(option);
  options->comparison.add_to(*command, against);
  command->add_option("--shard", options->shard, kShardDoc)->type_name("I/N");
  Option* const config = command->get_option("config");
  Option* const resume =
      command->add_option("--resume", options->resume,
                          "resume the run in this folder: run its missing and failed cells");
  config->required(false);
  for (const char* fixed :
       {"config", "--filter", "--set", "--seed", "--out", "--profile", "--counters"})
    resume->excludes(fixed);
  command->footer(
      "example: gpuexp run matmul --filter 'matmul/smem_*' --set n=1024,2048 --csv - > tiling.csv\n"
      "after a crash or Ctrl-C: gpuexp run --resume results/NAME-UTC\n"
      "one process for each of four GPUs: mpirun -n 4 gpuexp run collectives\n"
      "on the first of four GPUs: gpuexp run all --shard 1/4 --out shards/1, then gpuexp merge "
      "shards/*\n"
      "exit codes: 0 all cells that ran passed, 1 internal error or output not written, 2 usage or "
      "config error, 3 incorrect results, 4 failed cells, or no cell passed, 5 no usable GPU, or "
      "the machine lacks what every cell needs, 6 the comparison failed its gate, 7 a process of a "
      "launcher was lost, 130 interrupted");
  command->callback([&context, options, config, resume] {
    if (config->count() == 0 && resume->count() == 0) throw CLI::RequiredError("config");
    if (!options->counters.empty())
      options->config.overrides.sets.push_back("counters=" + options->counters);
    context.action = [&context, options] { return start_run(context, *options); };
  });
}

void add_verify(Command& app, Context& context) {
  Command* command = app.add_subcommand(
      "verify", "check every cell of configs against its fp64 reference; no timing");
  auto options = std::make_shared<RunArguments>();
  options->verify_only = true;
  options->config.add_to(*command);
  command->add_option("--csv", options->csv,
                      "write the rows as CSV to this file; - is standard output");
  command->add_option("--json", options->json,
                      "write the report as JSON to this file; - is standard output");
  command->add_option("--mismatches", options->mismatches,
                      "folder for the first 1000 wrong elements of each incorrect cell, as CSV");
  add_device_options(*command, *options);
  command->footer(
      "example: gpuexp verify all --filter 'matmul*/*'\n"
      "exit codes: the same as for run (gpuexp run --help)");
  on_chosen(*command, context, [&context, options] { return start_run(context, *options); });
}

}  // namespace gpuexp::cli
