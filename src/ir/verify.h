// src/ir/verify.h - when two types may be the same. verify_structure() itself is declared in graph.h.
#pragma once

#include "ir/graph.h"

namespace edgewright::ir {

// False only where the two are surely different: constants that differ, or symbolic sizes a constant apart.
bool may_equal(const Dim& a, const Dim& b);
// Same dtype, rank and kind, and every size may be equal. Unknown ints may equal anything.
bool may_equal(const Type& a, const Type& b);

}  // namespace edgewright::ir
