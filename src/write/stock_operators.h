// src/write/stock_operators.h - which operators the stock runtime has kernels for.
#pragma once

#include <string_view>

namespace edgewright::write {

// By full name with overload: "aten::add.out".
bool stock_has(std::string_view op);

}  // namespace edgewright::write
