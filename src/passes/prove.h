// src/passes/prove.h - whether two graphs of one program compute the same, shown by their terms, whatever the size of their tensors.
// Depends on passes/validate.h.
//
// What a graph gives back is written as terms: op, arguments, operands' terms, down to inputs, constants and states. Equal terms have
// one number, in both graphs alike, so equal numbers are equal values. In-place ops, views and mutated buffers are followed through
// storage on the way, so that a program gives the same terms before functionalization and after. Where numbers differ, the places
// where the terms part are judged as regions are: evaluated at chosen elements, with all terms that both sides share as boundary.
#pragma once

#include "passes/validate.h"

namespace edgewright::passes {

// `judged` is false where it can be neither shown nor refuted this way (control flow, randomness in another order).
Verdict prove_equal(Agreement promise, const Graph& before, const Graph& after, Validator& validator);

}  // namespace edgewright::passes
