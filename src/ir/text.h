// src/ir/text.h - the text form of graphs, for dumps, tests and bug reports. Depends on graph.h.
//
//   graph forward(%x: f32[2,s0], %n: int(s0)) where s0 in [2, 64] {
//     const %w: f32[3] = [1, 2.5, -inf]      # also [[1, 2], [3, 4]]; hex "0000c07f" for bytes; @big for the sidecar
//     state %cache: f32[2,8] = @cache
//     %a = aten.clamp(%x, min=0, max=6) : f32[2,s0]
//     %b, %c = aten.split.Tensor(%a, 1, dim=0) : f32[1,s0], f32[1,s0]
//     write %cache <- %b
//     return %a, 3, None
//   }
//
// Line breaks are as good as spaces; '#' starts a comment. Arguments stand in schema order, by name from the first one with
// a default on. Numbers with a point, an exponent, inf or nan are floats; f32 and the like are dtypes; lists and
// `graph {...}` nest. Names and ops outside [A-Za-z0-9_.] are written in quotes: %"a b". An op without a definition has
// all its arguments by name and needs its result types.
// print(parse(print(g))) == print(g), and both graphs have one hash.
#pragma once

#include "ir/graph.h"

namespace edgewright::ir {

struct PrintOptions {
  int64_t inline_elements = 64;          // larger constants and states go to the sidecar as @name
  bool types = true;                     // result types
  bool origins = false;                  // the exporter's name and source as trailing comments
  const SymbolRanges* ranges = nullptr;  // the `where` part; symbols that the graph does not use are left out
  // Filled with what @name stands for, contiguous or not; equal data once. Without it, @name is still printed.
  std::vector<std::pair<std::string, Tensor>>* sidecar = nullptr;
};
std::string print(const Graph& g, const PrintOptions& o = {});
// One node as it is printed in its graph, without indentation or line end.
std::string print(const Node& n, const PrintOptions& o = {});

// How parse() finds ops, result types and the sidecar's tensors (see ops::parse_context for the usual one).
struct ParseContext {
  std::function<const Op*(std::string_view)> find_op;  // null result: unknown
  std::function<Result<std::vector<Type>>(const Op&, const std::vector<Arg>&)> infer;
  std::function<Result<Tensor>(std::string_view)> find_constant;
};

struct Parsed {
  std::shared_ptr<Graph> graph;
  SymbolRanges ranges;
};
// Errors: kMalformed with line and column; types given that contradict the rule's are an error too. Nesting is limited,
// memory is in proportion to the text.
Result<Parsed> parse(std::string_view text, const ParseContext& c);

// A pass test: graphs joined by "=>" (before => after). `comment`: the comment lines right above it, without '#'.
struct ParsedCase {
  std::string comment;
  std::vector<Parsed> graphs;
};
// Several cases, one after the other. Errors as parse().
Result<std::vector<ParsedCase>> parse_cases(std::string_view text, const ParseContext& c);

}  // namespace edgewright::ir
