// src/session/check.h - the interpreter, the compiled program and expected outputs held against one another.
// Depends on calls.h, session.h.
#pragma once

#include "session/calls.h"
#include "session/session.h"

namespace edgewright::session {

// |a - b| <= atol + rtol * |b| for floating-point leaves; where one is not given, interp::default_tolerance's by dtype.
struct Tolerance {
  std::optional<double> atol, rtol;
};

// How far `a` is from `b`, the reference. NaN equals NaN, an infinity equals itself.
struct Measure {
  bool agree = true;
  double max_abs = 0, max_rel = 0;  // over elements that are finite on both sides
  double sqnr_db = 0;               // infinite where they are the same
  int64_t differing = 0;            // elements outside the bound
  std::string
      problem;  // "f32[2] against f32[3]", "1 of 6 differ, first at [0,1]: 1.5 against 2"; empty where they agree
};
// Floating-point tensors by tolerance, all other leaves exactly.
Measure compare(const Value& a, const Value& b, const Tolerance& t);

struct OutputCheck {
  size_t call = 0, output = 0;
  std::string name, type;
  // Against expected outputs where there are such for this leaf.
  std::optional<Measure> compiled_interpreter, compiled_expected, interpreter_expected;
  bool agree() const;
};

// The first node, in program order, whose value in the compiled program leaves the interpreter's.
struct FirstDifference {
  std::string node, op, module, source;
  Measure measure;
};

struct CheckResult {
  std::vector<OutputCheck> outputs;
  std::optional<FirstDifference> first;
  std::string no_first;  // why no node could be named although something differs
  size_t calls = 0;
  bool invented = false;  // inputs were made up
  double compile_ms = 0, load_ms = 0, interpret_ms = 0, run_ms = 0;
  bool agree() const;
};

// Compiles, runs the calls on both sides with state carried over, compares. Errors: what stops one side from running at all.
Result<CheckResult> check(const std::string& path, const Options& options, const CallFiles& files,
                          const Tolerance& tolerance, const Progress& progress);

// The same for a program in memory: `original` is interpreted, `compiled` (which is left as it is) compiled. They differ only
// where a fault is to be found.
Result<CheckResult> check_program(const ir::Program& original, const ir::Program& compiled,
                                  const std::vector<CallInputs>& calls, const driver::CompileOptions& compile,
                                  int threads, const Tolerance& tolerance, const Progress& progress);

// The outputs of one run held against what is expected of them: tensors only.
std::vector<OutputCheck> compare_expected(size_t call, const Signature& s, const std::vector<Value>& outputs,
                                          const std::map<size_t, Value>& expected, const Tolerance& tolerance);

}  // namespace edgewright::session
