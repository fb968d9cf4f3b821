// src/driver/compile.h - compile(): the stages in order, with a report of what each did. Depends on everything but the runtime.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "passes/pass_manager.h"

namespace edgewright::driver {

enum class Target : uint8_t {
  kPreferStock,  // loadable by the stock runtime where possible; the report says when and why it is not
  kStock,        // anything the stock runtime lacks is an error (kUnsupported)
  kOwn,          // our runtime only: no effort for stock
};

struct CompileOptions {
  Target target = Target::kPreferStock;
  passes::Verify verify = passes::Verify::kLocal;
  std::set<std::string> disabled;    // passes switched off
  std::vector<std::string> first;    // passes that run before all others, in order
  std::set<std::string> custom_ops;  // "mylib.op": the runtime has a kernel for it (runtime/kernel.h, register_kernel)
  std::string dump_dir;              // where not empty: the graph in text form after each stage and pass
  // Values (by exporter's node name) that the program shall return as extra outputs, for finding where numbers part.
  std::vector<std::string> expose;
  std::function<void(const std::string& stage)> progress;
  // Called with each program before its passes; what it makes of it is the program that is compiled (quantizing does so).
  std::function<Result<void>(ir::Program&, passes::PassLog&)> prepare;
  // Reports of wrong rewrites go to STEM.fault_N.ir; empty: into dump_dir, or nowhere. compile_to_file takes its output's path.
  std::string fault_stem;
  // For tests: passes to run instead of the default pipeline, and such that are not in the table.
  std::vector<std::string> pipeline;
  std::vector<passes::PassDef> further;
};

// A rewrite that failed its check and was undone: a fault of ours, and how to show it.
struct FaultReport {
  std::string pass, node;
  std::vector<std::string> nodes;  // all that would have been replaced
  std::string module, source;      // of `node`, as the exporter recorded
  std::string reason;              // with the values
  std::string graph;  // text form of a small program on which the pass fails alone; @names stand beside `file`
  std::string file;   // where it was written: `edgewright opt FILE --pass PASS` says the same; empty: nowhere
};

struct StageTime {
  std::string name;
  double milliseconds = 0;
};

// One node of the lowered graph.
struct NodeReport {
  std::string name, op;
  std::optional<int> delegate;  // which XNNPACK delegate holds it
  std::string reason, hint;     // why it is outside, and what would change that
  std::string module, source;   // as the exporter recorded
  std::string dtype;
};

struct CompileReport {
  std::vector<StageTime> stages;
  passes::PassLog passes;
  std::vector<FaultReport> faults;
  std::vector<NodeReport> nodes;
  int delegates = 0;
  size_t weight_bytes = 0, arena_bytes = 0, file_bytes = 0;
  std::vector<std::string> needs_own_runtime;  // reasons; empty: the stock runtime loads the file
  std::vector<std::string> exposed;            // names found among `expose`, in the order of the extra outputs
};

// A compiled program in memory: pieces to be written in order; they may point into the mapped .pt2 of `program`.
struct Compiled {
  CompileReport report;
  std::vector<std::byte> bytes;  // the whole file
};

// Compiles a program (several methods: one each). The programs are rewritten in place. Errors: kUnsupported naming node, op,
// dtype and module path; kInternal for our own faults.
Result<Compiled> compile(std::vector<ir::Program>& programs, const CompileOptions& o);
// The same straight into a file, all or nothing, without a copy of the weights in memory.
Result<CompileReport> compile_to_file(std::vector<ir::Program>& programs, const std::string& path,
                                      const CompileOptions& o);

}  // namespace edgewright::driver
