// src/cli/commands.h - the commands behind the command line: what each takes, and its function. Depends on session.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/quantize.h"

namespace edgewright::cli {

struct CompileArgs {
  std::vector<std::string> inputs, methods;
  std::string output, model, target, dump, verify;
  std::vector<std::string> disable, first, custom_ops;
  bool json = false;
  session::QuantizeRequest quantize;
};
// run and check; `outputs` is run's alone.
struct RunArgs {
  std::string input, model;
  std::vector<std::string> methods;                        // none: the first; one; or one per call
  std::vector<std::vector<std::string>> inputs, expected;  // one list of files per call
  std::vector<std::string> scalars, outputs;
  int threads = 1;
  std::optional<double> atol, rtol;
  std::vector<std::string> first;  // check: passes to run before all others
  bool json = false;
  session::QuantizeRequest quantize;
};
struct InspectArgs {
  std::string input, model;
  bool graph = false, json = false;
};
struct BenchArgs {
  std::string input, model, method;
  std::vector<std::string> inputs, scalars;
  int threads = 1;
  double seconds = 2;
  bool profile = false;
  bool json = false;
  session::QuantizeRequest quantize;
};
struct OptArgs {
  std::string input;
  std::vector<std::string> passes;
  std::string verify;
  bool list = false;
};
struct ExplainArgs {
  std::string input, model, method;
  std::vector<std::string> disable, first;
  bool json = false;
  session::QuantizeRequest quantize;
};

// Each does its work and prints; the exit status, or the failure that main() reports.
Result<int> compile(const CompileArgs& a);
Result<int> run(const RunArgs& a);
Result<int> check(const RunArgs& a);
Result<int> inspect(const InspectArgs& a);
Result<int> bench(const BenchArgs& a);
Result<int> opt(const OptArgs& a);
Result<int> explain(const ExplainArgs& a);

}  // namespace edgewright::cli
