// src/quantize/plan.h - which nodes become quantized layers under a scheme. Depends on passes.
#pragma once

#include <map>
#include <set>

#include "passes/pass_def.h"
#include "quantize/quantize.h"

namespace edgewright::quantize {

enum class Kind : uint8_t {
  kLinear,       // linear, mm, addmm over a constant matrix
  kConvolution,  // over a constant weight
  kEmbedding,    // rows of a constant table
  kCompute,      // static alone: add, sub, mul, mean over an image
  kMove,         // static alone: what moves or clamps elements, so that its output has its input's scale
};

struct Step {
  Kind kind = Kind::kLinear;
  ir::Node* op = nullptr;
  ir::Node* tail = nullptr;             // the clamp behind op that is part of the layer, or op itself
  ir::Value* weight = nullptr;          // f32 constant
  int64_t axis = 0;                     // of the weight: the outputs'
  bool transposed = false;              // the weight is [inputs, outputs]: mm, addmm
  bool by_group = false;                // 4 bits
  std::vector<ir::Value*> activations;  // operands that are quantized
  const std::string& name() const { return op->result()->name; }
  bool is_layer() const { return kind != Kind::kMove; }
};

// Steps in program order. `kept`: names of layers that stay float (Step::name), which under a static scheme also decides about the
// ops around them.
std::vector<Step> plan(const ir::Graph& g, Scheme scheme, const std::set<std::string>& kept);

// Values, by name, that must have the same scale: those that a kMove step joins. Every value that some step quantizes is in it;
// the same number is the same class.
std::map<std::string, int> scale_classes(const std::vector<Step>& steps);

}  // namespace edgewright::quantize
