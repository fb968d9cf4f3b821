// src/quantize/insert.h - puts quantize and dequantize nodes around the steps of a plan. Depends on plan.h.
#pragma once

#include <unordered_map>

#include "quantize/plan.h"
#include "quantize/weights.h"

namespace edgewright::quantize {

// Integers of weights, made once for all graphs that they go into: by the weight's name, axis and grouping.
using WeightCache = std::map<std::string, Quantized>;

// The forms, x being an activation and w a weight, as the exporter has them:
//   dynamic  op(dequantize_per_token(quantize_per_token(x, s, z), s, z), dequantize_per_channel(w)), s and z of
//            choose_qparams_per_token_asymmetric(x); 4 bits: dequantize_per_channel_group(w)
//   static   dequantize_per_tensor(quantize_per_tensor(clamp(op(dequantize_per_tensor(...), dequantize_per_channel(w)))))
//   weight   op(x, dequantize_per_channel(w)); embedding_byte(w, indices)
// mm and addmm become linear, over the transposed weight.
class Inserter {
 public:
  // `params`: by scale class; only read for static schemes.
  Inserter(ir::Graph& g, Scheme scheme, WeightCache& weights, const std::map<std::string, int>& classes,
           const std::map<int, QParams>& params)
      : g_(g), scheme_(scheme), weights_(weights), classes_(classes), params_(params) {}

  // Adds the quantized form of a step behind it and returns its output; nothing reads that yet.
  Result<ir::Value*> add(const Step& s);
  // The same, and whoever read the step's output reads this one.
  Result<ir::Value*> replace(const Step& s);
  // After all steps: removes the nodes of those that were replaced; their names go to what stands for them.
  void finish();

 private:
  Result<ir::Value*> activation(ir::Value* x, ir::Node* before);
  Result<ir::Value*> weight(const Step& s, ir::Node* before);
  Result<ir::Value*> fixed(ir::Value* x, const QParams& q, ir::Node* before, std::shared_ptr<const ir::Origin> origin);
  const QParams& params_of(const ir::Value* v) const { return params_.at(classes_.at(name_of(v))); }
  // The name in the float program.
  const std::string& name_of(const ir::Value* v) const {
    const auto it = stands_for_.find(v);
    return it == stands_for_.end() ? v->name : it->second;
  }

  ir::Graph& g_;
  Scheme scheme_;
  WeightCache& weights_;
  const std::map<std::string, int>& classes_;
  const std::map<int, QParams>& params_;
  std::unordered_map<const ir::Value*, ir::Value*> done_;         // activation -> quantized and back
  std::unordered_map<const ir::Value*, std::string> stands_for_;  // output of a static step -> the float value's name
  std::unordered_map<const ir::Value*, ir::Value*> replaced_;     // float output of a step -> quantized one
  std::vector<std::pair<ir::Node*, ir::Value*>> old_;             // nodes to go, with what stands for their result
  std::map<std::string, std::pair<ir::Value*, ir::Value*>> consts_;  // integers and scales in this graph
};

}  // namespace edgewright::quantize
