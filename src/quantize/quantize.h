// src/quantize/quantize.h - turns a float program into a quantized one: which layers, which scales, what it costs. Depends on passes.
//
// Quantizing changes the numbers on purpose, so it is no pass: nothing here promises that before and after agree. What it promises
// is the form of the result, quantize and dequantize nodes around ops as PyTorch's exporter writes them, and a measurement of the
// difference on real inputs. The quantized program is then a program like any other: it means what the interpreter makes of it, and
// every later rewrite is held to that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interp/datum.h"
#include "passes/pass_manager.h"

namespace edgewright::quantize {

enum class Scheme : uint8_t {
  kDynamicInt8,  // linears: i8 by row of activations as they come x i8 by output; convolutions and embeddings by weight
  kDynamicInt8Int4,  // the same, but linears' weights are 4 bits, with a scale for every 32 along a row
  kStaticInt8,       // activations i8 with one scale per tensor, from calibration inputs; weights i8 by output
  kWeightInt8,       // weights alone
};
inline constexpr int64_t kGroup = 32;  // weights of 4 bits that share a scale

// By the command line's name ("dynamic-int8"). Errors: kUsage, naming those there are.
Result<Scheme> scheme_of(std::string_view name);

struct Options {
  Scheme scheme = Scheme::kDynamicInt8;
  // Layers that stay float: shell patterns on a node's name, or on its module path or a module around it.
  std::vector<std::string> keep;
  std::optional<double> min_sqnr;  // dB; layers below it stay float
  passes::Verify verify = passes::Verify::kLocal;
  std::set<std::string> disabled;
  std::function<void(const std::string& what)> progress = {};
};

// A layer: an op whose weight, or whose inputs and output, are quantized, together with the clamp behind it.
struct Layer {
  std::string node, op, module, source;
  std::string form;  // what was made of it ("i8 x i8", "i8 x i4g32", "weight i8", ...)
  std::string kept;  // why it stayed float; empty where it is quantized
  // Signal to noise of its output where its inputs are the float program's: what this layer alone costs. Infinite where nothing
  // differs, NaN where it was not measured or is kept by name.
  double sqnr_db = 0;
  // The same in the quantized program, with all that came before it; NaN where it was not measured.
  double sqnr_through_db = 0;
  size_t weight_bytes_before = 0, weight_bytes_after = 0;
};

struct OutputError {
  size_t call = 0;
  std::string name;
  double sqnr_db = 0, max_abs = 0;
};

struct Report {
  std::vector<Layer> layers;         // in program order
  std::vector<OutputError> outputs;  // floating-point outputs, call by call
  size_t calls = 0;
  // Constants of the program; weights of 4 bits count half a byte.
  size_t weight_bytes_before = 0, weight_bytes_after = 0;
  passes::PassLog passes;  // that brought the program into the form in which layers are looked for
};

// One call's input leaves, as interp::run takes them.
using Call = std::vector<interp::Datum>;

// Quantizes `p` in place. `calls` are run in order, with state carried over: static schemes take their scales from them, and all
// schemes are measured on them. Errors: kUsage (a pattern that matches no layer; a static scheme without calls; a value of a
// calibrated layer that is not finite, with the node; inputs that do not fit), kUnsupported (a program that has quantized ops
// already; what the interpreter cannot run), those of the passes. After an error `p` is sound but may be half rewritten by passes.
Result<Report> quantize(ir::Program& p, std::span<const Call> calls, const Options& o);

}  // namespace edgewright::quantize
