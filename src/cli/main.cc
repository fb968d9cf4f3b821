// src/cli/main.cc - the command line: parses, dispatches, reports failures. Depends on commands.h and CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/quantized.h"
#include "cli/terminal.h"
#include "session/json.h"
#include "session/ops_table.h"

namespace edgewright::cli {
namespace {

constexpr const char* kExitStatuses =
    "Exit status:\n"
    "  0  right\n"
    "  1  results disagree\n"
    "  2  wrong usage, or inputs that do not fit the program (count, dtype, shape, range)\n"
    "  3  an input is unreadable or malformed\n"
    "  4  something is not supported; the message names node, op, dtype and module path\n"
    "  5  a fault of edgewright\n";

constexpr const char* kFiles =
    "F is a .safetensors file whose keys are \"0\", \"1\", ... in flattened pytree order, or several .npy files, one "
    "per\n"
    "tensor in that order. Each --inputs is one more call on the same loaded method, so that state shows.\n";

const char* code_name(Code c) {
  switch (c) {
    case Code::kMismatch: return "mismatch";
    case Code::kUsage: return "usage";
    case Code::kMalformed: return "malformed";
    case Code::kUnsupported: return "unsupported";
    case Code::kInternal:
    case Code::kKeptOnHost: return "internal";
  }
  return "internal";
}

// One line on stderr; with --json also an object on stdout.
int report(const Error& e, bool json) {
  std::string text = e.str();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  const char* kind = e.code == Code::kUnsupported ? "unsupported: "
                     : e.code == Code::kInternal || e.code == Code::kKeptOnHost
                         ? "a fault of edgewright, please report it: "
                         : "";
  std::fprintf(stderr, "%s %s%s\n", paint(Style::kBad, "error:", stderr).c_str(), kind, text.c_str());
  if (json) {
    session::JsonWriter j;
    j.open('{').key("error").open('{').field("status", exit_status(e.code)).field("kind", code_name(e.code));
    j.field("message", text).field("node", e.node).field("origin", e.origin).close('}').close('}');
    std::fputs(j.take().c_str(), stdout);
  }
  return exit_status(e.code);
}

void add_calls(CLI::App* c, RunArgs& a) {
  c->add_option("--inputs", a.inputs, "the inputs of one call")->type_name("F...");
  c->add_option("--input", a.scalars, "an input that is no tensor, by leaf number or name")
      ->type_name("K=VALUE")
      ->expected(1)
      ->take_all();
  c->add_option("--expect", a.expected, "outputs to compare with, one per --inputs")->type_name("F...");
  c->add_option("--method", a.methods, "which method; the first where not given; given several times: one per --inputs")
      ->expected(1)
      ->take_all();
  c->add_option("--model", a.model, "which model of a .pt2 that holds several");
  c->add_option("--atol", a.atol, "tolerance |a-b| <= atol + rtol*|b|, for every floating-point output")
      ->check(CLI::NonNegativeNumber);
  c->add_option("--rtol", a.rtol, "")->check(CLI::NonNegativeNumber);
  c->add_flag("--json", a.json, "print one JSON object");
  add_quantizing(c, a.quantize);
}

constexpr const char* kTolerances =
    "By default both tolerances are 1e-4 for f32 and f64, 5e-3 for f16, 2e-2 for bf16; integers and bools must be "
    "equal.\n"
    "NaN equals NaN.\n";

int main_(int argc, char** argv) {
  CLI::App app(
      "edgewright compiles programs that torch.export.save wrote (.pt2) to files that the ExecuTorch runtime loads "
      "(.pte),\n"
      "runs both kinds, and shows that the numbers stay the same.");
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "help for every command");
  app.set_version_flag("--version", "edgewright 0.1");
  app.footer(std::string("Examples:\n"
                         "  edgewright compile model.pt2 -o model.pte\n"
                         "  edgewright check model.pt2 --inputs x.safetensors --expect y.safetensors\n"
                         "  edgewright run model.pte --inputs x.safetensors -o y.safetensors\n"
                         "  edgewright explain model.pt2        why an op was not delegated\n"
                         "  edgewright COMMAND --help           more on each\n\n") +
             kExitStatuses);

  CompileArgs compile_args;
  CLI::App* c = app.add_subcommand("compile", "compile a .pt2 to a .pte");
  c->add_option("model_file", compile_args.inputs, "what torch.export.save wrote; several become methods of one file")
      ->type_name("MODEL.pt2");
  c->add_option("--method", compile_args.methods,
                "name the method that a file becomes; methods share equal weights, and buffers of one name, type and "
                "initial value")
      ->type_name("NAME=FILE")
      ->expected(1)
      ->take_all();
  c->add_option("-o,--output", compile_args.output, "the file to write; it appears whole or not at all")
      ->required()
      ->type_name("MODEL.pte");
  c->add_option("--model", compile_args.model, "which model of a .pt2 that holds several");
  c->add_option(
       "--target", compile_args.target,
       "stock: refuse what the stock runtime cannot run; own: our runtime only; without it, stock where possible")
      ->check(CLI::IsMember({"stock", "own"}));
  c->add_option(
       "--verify", compile_args.verify,
       "check of each rewrite: local (the default), strict (also of the whole program after each pass; a failure is an "
       "error), off")
      ->check(CLI::IsMember({"local", "strict", "off"}));
  const auto add_first = [](CLI::App* to, std::vector<std::string>& passes) {
    to->add_option("--first", passes, "run a pass before all others (repeat for several)")
        ->type_name("PASS")
        ->expected(1)
        ->take_all();
  };
  add_first(c, compile_args.first);
  c->add_option("--disable", compile_args.disable,
                "switch a pass off (repeat for several; `edgewright opt --list` names them)")
      ->type_name("PASS")
      ->expected(1)
      ->take_all();
  c->add_option("--custom-op", compile_args.custom_ops,
                "an op that is not known here, mylib.op: the runtime will have a kernel mylib::op.out for it")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  c->add_option("--dump", compile_args.dump, "write the graph in text form after each pass into this folder")
      ->type_name("DIR");
  c->add_flag("--json", compile_args.json, "print one JSON object");
  add_quantizing(c, compile_args.quantize);
  c->footer(
      "Examples:\n"
      "  edgewright compile model.pt2 -o model.pte\n"
      "  edgewright compile model.pt2 -o model.pte --target stock     fail rather than need our runtime\n"
      "  edgewright compile --method prefill=p.pt2 --method decode=d.pt2 -o llm.pte     two methods with one cache\n"
      "  edgewright compile model.pt2 -o model.pte --dump graphs/     see what each pass did\n"
      "  edgewright compile model.pt2 -o model.pte --quantize dynamic-int8       a quarter of the size\n"
      "  edgewright compile model.pt2 -o model.pte --quantize static-int8 --calibrate a.safetensors b.safetensors");

  RunArgs run_args;
  c = app.add_subcommand("run", "run a .pte, or a .pt2 compiled in memory");
  c->add_option("model_file", run_args.input, "")->required()->type_name("MODEL.pte|MODEL.pt2");
  add_calls(c, run_args);
  c->add_option("-o,--output", run_args.outputs,
                "write the outputs (.safetensors, or .npy for a single tensor), one per --inputs")
      ->type_name("F")
      ->expected(1)
      ->take_all();
  c->add_option("--threads", run_args.threads, "0: as many as the machine has")->check(CLI::Range(0, 1024));
  c->footer(std::string("Without inputs the sample inputs inside the .pt2 are used.\n") + kFiles +
            "With --expect the status is 1 where outputs differ. " + kTolerances +
            "\nExamples:\n"
            "  edgewright run model.pte --inputs x.safetensors -o y.safetensors\n"
            "  edgewright run model.pt2 --inputs image.npy mask.npy --input 2=True\n"
            "  edgewright run counter.pte --inputs a.safetensors --inputs b.safetensors     two calls in a row\n"
            "  edgewright run llm.pte --method prefill --method decode --inputs p.safetensors --inputs d.safetensors");

  RunArgs check_args;
  c = app.add_subcommand("check", "compile a .pt2 and compare interpreter, compiled program and expected outputs");
  c->add_option("model_file", check_args.input, "")->required()->type_name("MODEL.pt2");
  add_calls(c, check_args);
  add_first(c, check_args.first);
  c->add_option("--threads", check_args.threads, "0: as many as the machine has")->check(CLI::Range(0, 1024));
  c->footer(std::string("Without inputs the sample inputs inside the .pt2 are used, or else random ones.\n") + kFiles +
            kTolerances +
            "An output that the program quantizes in steps may be one step off.\n"
            "On a difference the first node that leaves its bound is named, with its module path and source line.\n"
            "\nExample:\n"
            "  edgewright check model.pt2 --inputs x.safetensors --expect y.safetensors");

  InspectArgs inspect_args;
  c = app.add_subcommand("inspect", "tell what a .pt2 or .pte holds");
  c->add_option("file", inspect_args.input, "")->required()->type_name("FILE");
  c->add_option("--model", inspect_args.model, "which model of a .pt2 that holds several");
  c->add_flag("--graph", inspect_args.graph, "every node of every delegate, not only counts; for a .pt2 the graph");
  c->add_flag("--json", inspect_args.json, "print one JSON object");

  BenchArgs bench_args;
  c = app.add_subcommand("bench", "measure loading and running");
  c->add_option("model_file", bench_args.input, "")->required()->type_name("MODEL.pte|MODEL.pt2");
  c->add_option("--inputs", bench_args.inputs, "inputs; without them the samples in the .pt2, else made up")
      ->type_name("F...");
  c->add_option("--input", bench_args.scalars, "an input that is no tensor")
      ->type_name("K=VALUE")
      ->expected(1)
      ->take_all();
  c->add_option("--method", bench_args.method, "which method; the first where not given");
  c->add_option("--model", bench_args.model, "which model of a .pt2 that holds several");
  c->add_option("--threads", bench_args.threads, "0: as many as the machine has")->check(CLI::Range(0, 1024));
  c->add_option("--seconds", bench_args.seconds, "for how long")->check(CLI::Range(0.0, 3600.0))->capture_default_str();
  c->add_flag("--profile", bench_args.profile,
              "show where the time goes: kernels, and the operators inside of delegates");
  c->add_flag("--json", bench_args.json, "print one JSON object: median_ms, min_ms, p90_ms, load_ms, peak_rss_mb, ...");
  add_quantizing(c, bench_args.quantize);

  OptArgs opt_args;
  c = app.add_subcommand("opt", "run passes over a graph in text form and print it");
  auto* graph = c->add_option("graph", opt_args.input, "\"-\" reads standard input")->type_name("GRAPH.ir");
  c->add_option("--pass", opt_args.passes, "passes, in order")->type_name("NAME...");
  c->add_option("--verify", opt_args.verify, "local (the default), strict, off: as for compile")
      ->check(CLI::IsMember({"local", "strict", "off"}));
  auto* list = c->add_flag("--list", opt_args.list, "list the passes with what they do");
  c->footer(
      "Example:\n"
      "  edgewright opt graph.ir --pass fold-constants dead-code");

  ExplainArgs explain_args;
  c = app.add_subcommand("explain",
                         "what was delegated, and for every node that was not: why, and what would change it");
  c->add_option("model_file", explain_args.input, "")->required()->type_name("MODEL.pt2");
  c->add_option("--method", explain_args.method, "which method; the first where not given");
  c->add_option("--model", explain_args.model, "which model of a .pt2 that holds several");
  add_first(c, explain_args.first);
  c->add_option("--disable", explain_args.disable, "switch a pass off")->type_name("PASS")->expected(1)->take_all();
  c->add_flag("--json", explain_args.json, "print one JSON object, with one entry per node of the lowered graph");
  add_quantizing(c, explain_args.quantize);

  app.add_subcommand("ops", "the ops that are known, and what runs each, as a table");

  const bool json = std::any_of(argv + 1, argv + argc, [](const char* s) { return std::string_view(s) == "--json"; });
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("opt") && graph->empty() && list->empty()) throw CLI::RequiredError("GRAPH.ir");
  } catch (const CLI::Success& e) {
    app.exit(e);
    return 0;
  } catch (const CLI::ParseError& e) {
    Error error;
    error.code = Code::kUsage;
    error.message = std::string(e.what()) + " (see --help)";
    return report(error, json);
  }

  Result<int> status = 0;
  if (app.got_subcommand("compile")) status = compile(compile_args);
  if (app.got_subcommand("run")) status = run(run_args);
  if (app.got_subcommand("check")) status = check(check_args);
  if (app.got_subcommand("inspect")) status = inspect(inspect_args);
  if (app.got_subcommand("bench")) status = bench(bench_args);
  if (app.got_subcommand("opt")) status = opt(opt_args);
  if (app.got_subcommand("explain")) status = explain(explain_args);
  if (app.got_subcommand("ops")) say("{}", session::ops_table());
  if (std::fflush(stdout) != 0 && status) {
    Error error;
    error.code = Code::kUsage;
    error.message = "cannot write to standard output";
    return report(error, false);
  }
  return status ? *status : report(status.error(), json);
}

}  // namespace
}  // namespace edgewright::cli

int main(int argc, char** argv) {
  try {
    return edgewright::cli::main_(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("error: out of memory\n", stderr);
    return edgewright::exit_status(edgewright::Code::kUnsupported);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: a fault of edgewright, please report it: %s\n", e.what());
    return edgewright::exit_status(edgewright::Code::kInternal);
  }
}
