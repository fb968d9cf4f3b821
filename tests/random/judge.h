// tests/random/judge.h - a graph as a program, what it computes, and whether other numbers agree with that.
// Depends on interp, session.
//
// How far two right computations may be apart follows from the program: the interpreter runs it several times, each time with
// every rounded result changed at random by a few units in its last place. Where outputs move, as much is allowed; an int or a
// bool that moves is not judged at all. What only moves data must be the same to the last bit.
#pragma once

#include "interp/apply.h"
#include "interp/interp.h"
#include "ir/text.h"
#include "ops/families.h"
#include "session/loaded.h"

namespace edgewright::random {

// Leaves named after values. The graph is shared, not copied.
ir::Program program_of(std::shared_ptr<ir::Graph> graph, ir::SymbolRanges ranges = {});
ir::Program program_of(const ir::Parsed& parsed);

using Inputs = std::vector<interp::Datum>;  // one per leaf
struct Sample {
  std::vector<Inputs> calls;  // successive, with state
};

// What is expected of one output of one call.
struct Expected {
  interp::Datum value;
  std::vector<double> slack;  // by element; infinite: not judged
};
struct Reference {
  std::vector<std::vector<Expected>> calls;
  bool quantized = false;  // 8-bit results may be one step apart, and floats are not judged
  bool nan = false;        // some value has a NaN
  bool wild = false;  // somewhere a number so large that another order of operations may overflow: nothing is judged
};
// Errors: the interpreter's.
Result<Reference> reference(const ir::Program& p, const Sample& s);

// What differs, in words; nullopt where everything agrees.
std::optional<std::string> compare(const Reference& r, const std::vector<std::vector<interp::Datum>>& got);

// The interpreter's outputs, call by call.
Result<std::vector<std::vector<interp::Datum>>> interpret(const ir::Program& p, const Sample& s);

// What became of a program.
enum class Outcome : uint8_t { kRight, kRefused, kUnjudged, kWrong };
struct Verdict {
  Outcome outcome = Outcome::kRight;
  std::string text;  // the reason of a refusal; what is wrong
};
// Compiles a copy with these options, runs every call, compares. Refused: status 4. A rewrite that failed its check is wrong.
Verdict judge(const ir::Program& p, const Sample& s, const Reference& r, const driver::CompileOptions& o = {});
// The same with the reference made on the way.
Verdict judge(const ir::Program& p, const Sample& s);

}  // namespace edgewright::random
