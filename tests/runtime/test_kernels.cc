// Runs PyTorch's results (tests/ops/vectors, format in its README) through the runtime's kernels: each case becomes a .pte of
// one instruction. schemas.txt tells which kernel serves which operator (make_schemas.py).
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "programs.h"
#include "runtime/kernel.h"

namespace edgewright::runtime {
namespace {

struct Item {
  std::variant<std::monostate, HostTensor, int64_t, double, bool, std::string, DType, std::vector<Item>> v;
};

// The text form of a value.
class Reader {
 public:
  explicit Reader(std::string_view s) : s_(s) {}
  Item item() {
    skip(" ");
    if (eat("None")) return {};
    if (eat("True")) return {true};
    if (eat("False")) return {false};
    if (eat(":")) return {dtype_from_name(until(" ,]")).value_or(DType::f32)};
    if (eat("\"")) {
      std::string t = until("\"");
      eat("\"");
      return {std::move(t)};
    }
    if (eat("[")) {
      std::vector<Item> l;
      for (skip(" ,"); !eat("]"); skip(" ,")) l.push_back(item());
      return {std::move(l)};
    }
    const size_t start = at_;
    const auto dtype = dtype_from_name(until("["));
    if (dtype && eat("[")) return {tensor(*dtype)};
    at_ = start;
    const std::string n = until(" ,]");
    if (n.find_first_of(".en") != std::string::npos) return {std::strtod(n.c_str(), nullptr)};
    return {static_cast<int64_t>(std::strtoll(n.c_str(), nullptr, 10))};
  }

 private:
  HostTensor tensor(DType dtype) {
    std::vector<int64_t> sizes;
    for (skip(","); !eat("]"); skip(",")) sizes.push_back(std::strtoll(until(",]").c_str(), nullptr, 10));
    eat("{");
    std::vector<std::byte> data;
    const auto put = [&](auto v) {
      const auto b = std::as_bytes(std::span(&v, 1));
      data.insert(data.end(), b.begin(), b.end());
    };
    for (skip(" "); !eat("}"); skip(" ")) {
      const std::string n = until(" }");
      const char* p = n.c_str();
      switch (dtype) {
        case DType::f64: put(std::strtod(p, nullptr)); break;
        case DType::f32: put(std::strtof(p, nullptr)); break;
        case DType::f16: put(double_to_half(std::strtod(p, nullptr))); break;
        case DType::bf16: put(double_to_bf16(std::strtod(p, nullptr))); break;
        default: {
          const auto v =
              n[0] == '-' ? static_cast<uint64_t>(std::strtoll(p, nullptr, 10)) : std::strtoull(p, nullptr, 10);
          const auto b = std::as_bytes(std::span(&v, 1));  // little-endian: the low bytes
          data.insert(data.end(), b.begin(), b.begin() + static_cast<int64_t>(size_of(dtype)));
        }
      }
    }
    return HostTensor::owned(dtype, std::move(sizes), std::move(data));
  }
  void skip(std::string_view set) { at_ = std::min(s_.find_first_not_of(set, at_), s_.size()); }
  bool eat(std::string_view t) {
    if (s_.substr(at_, t.size()) != t) return false;
    at_ += t.size();
    return true;
  }
  std::string until(std::string_view set) {
    const size_t start = at_;
    at_ = std::min(s_.find_first_of(set, at_), s_.size());
    return std::string(s_.substr(start, at_ - start));
  }
  std::string_view s_;
  size_t at_ = 0;
};

struct Case {
  std::string op, where;
  std::vector<Item> args, outs;
  std::map<std::string, Item> keywords;
  double rtol = -1, atol = -1;
};

struct Schema {
  std::string kernel, op;
  std::vector<std::pair<std::string, std::optional<Item>>> args;  // with defaults
  size_t outs = 0;
  bool list = false;
};

std::vector<Schema> schemas() {
  std::vector<Schema> all;
  std::ifstream f(std::string(EW_TEST_DATA) + "/schemas.txt");
  for (std::string line; std::getline(f, line);) {
    std::istringstream words(line);
    Schema s;
    words >> s.kernel >> s.op;
    bool outs = false;
    for (std::string w; words >> w;) {
      if (w == "->") {
        outs = true;
      } else if (outs) {
        ++s.outs;
        s.list = w == "list";
      } else if (const size_t eq = w.find('='); eq != std::string::npos) {
        s.args.emplace_back(w.substr(0, eq), Reader(w.substr(eq + 1)).item());
      } else {
        s.args.emplace_back(w, std::nullopt);
      }
    }
    all.push_back(std::move(s));
  }
  return all;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  std::vector<std::filesystem::path> paths;
  for (const auto& e : std::filesystem::directory_iterator(std::string(EW_TEST_DATA) + "/../ops/vectors"))
    paths.push_back(e.path());
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::ifstream f(path);
    int number = 0;
    for (std::string line; std::getline(f, line);) {
      ++number;
      const size_t space = std::min(line.find(' '), line.size() - 1);
      const std::string key = line.substr(0, space), rest = line.substr(space + 1);
      if (key == "case") {
        all.push_back({.op = rest, .where = fmt::format("{}:{}", path.filename().string(), number)});
      } else if (key == "in") {
        all.back().args.push_back(Reader(rest).item());
      } else if (key == "kw") {
        all.back().keywords.emplace(rest.substr(0, rest.find(' ')), Reader(rest.substr(rest.find(' ') + 1)).item());
      } else if (key == "out") {
        all.back().outs.push_back(Reader(rest).item());
      } else if (key == "tol") {
        all.back().rtol = std::strtod(rest.c_str(), nullptr);
        all.back().atol = std::strtod(rest.c_str() + rest.find(' '), nullptr);
      }
    }
  }
  return all;
}

bool supported(DType t) { return size_of(t) > 0 && !is_complex(t); }

class KernelCase {
 public:
  // Empty when the kernel gives PyTorch's result.
  std::string run(const Case& c, const Schema& s) {
    std::vector<int32_t> args;
    for (size_t i = 0; i < s.args.size(); ++i) {
      const auto& [name, otherwise] = s.args[i];
      const Item* item = i < c.args.size() ? &c.args[i] : nullptr;
      if (const auto it = c.keywords.find(name); it != c.keywords.end()) item = &it->second;
      if (!item && otherwise) item = &*otherwise;
      if (!item) return "skip";
      args.push_back(add(*item));
    }
    std::vector<const HostTensor*> want;
    pte::TensorList list;
    const std::vector<Item>& outs = c.outs.size() == 1 && std::holds_alternative<std::vector<Item>>(c.outs[0].v)
                                        ? std::get<std::vector<Item>>(c.outs[0].v)
                                        : c.outs;
    if (!s.list && outs.size() != s.outs) return "skip";
    for (const Item& o : outs) {
      const auto* t = std::get_if<HostTensor>(&o.v);
      if (!t || !supported(t->dtype)) return "skip";
      want.push_back(t);
      const int32_t v = m_.tensor(t->dtype, t->sizes);
      m_.plan().outputs.push_back(v);
      list.items.push_back(v);
    }
    if (s.list)
      args.push_back(m_.value(list));
    else
      args.insert(args.end(), list.items.begin(), list.items.end());
    const size_t dot = s.kernel.find('.');
    m_.call(s.kernel.substr(0, dot), dot == std::string::npos ? "" : s.kernel.substr(dot + 1), args);
    if (skip_) return "skip";
    auto method = m_.load();
    if (!method) return method.error().str();
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (auto r = (*method)->set_input(i, *inputs_[i]); !r) return r.error().str();
    if (auto r = (*method)->execute(); !r) return r.error().str();
    for (size_t i = 0; i < want.size(); ++i) {
      double rtol = c.rtol, atol = c.atol;
      if (rtol < 0) {
        const DType t = want[i]->dtype;
        rtol = t == DType::f64 ? 1e-7 : t == DType::f32 ? 1e-5 : t == DType::f16 ? 2e-3 : 2e-2;
        atol = t == DType::f64 ? 1e-9 : t == DType::f32 ? 1e-6 : rtol;
      }
      const std::string bad = difference((*method)->output_tensor(i), *want[i], rtol, atol);
      if (!bad.empty()) return fmt::format("output {}: {}", i, bad);
    }
    return "";
  }

 private:
  int32_t input(const HostTensor& t) {
    skip_ = skip_ || !supported(t.dtype);
    const int32_t v = m_.tensor(t.dtype, t.sizes);
    m_.plan().inputs.push_back(v);
    inputs_.push_back(&t);
    return v;
  }
  int32_t add(const Item& item) {
    if (const auto* t = std::get_if<HostTensor>(&item.v)) return input(*t);
    if (const auto* n = std::get_if<int64_t>(&item.v)) return m_.value(*n);
    if (const auto* d = std::get_if<double>(&item.v)) return m_.value(*d);
    if (const auto* b = std::get_if<bool>(&item.v)) return m_.value(*b);
    if (const auto* t = std::get_if<std::string>(&item.v)) return m_.value(*t);
    if (const auto* t = std::get_if<DType>(&item.v)) return m_.value(static_cast<int64_t>(*t));
    const auto* l = std::get_if<std::vector<Item>>(&item.v);
    if (!l) return m_.value(pte::Null{});
    bool tensors = false, reals = false;
    for (const Item& i : *l) {
      tensors = tensors || std::holds_alternative<HostTensor>(i.v) || i.v.index() == 0;
      reals = reals || std::holds_alternative<double>(i.v);
    }
    if (tensors) {
      pte::OptionalTensorList o;
      for (const Item& i : *l) o.items.push_back(i.v.index() == 0 ? -1 : input(std::get<HostTensor>(i.v)));
      return m_.value(o);
    }
    if (reals) {
      pte::DoubleList o;
      for (const Item& i : *l) o.items.push_back(std::get<double>(i.v));
      return m_.value(o);
    }
    std::vector<int64_t> ints;
    for (const Item& i : *l) {
      if (const auto* n = std::get_if<int64_t>(&i.v))
        ints.push_back(*n);
      else
        skip_ = true;
    }
    return m_.ints(ints);
  }

  Maker m_;
  std::vector<const HostTensor*> inputs_;
  bool skip_ = false;
};

TEST(Kernels, give_pytorchs_results) {
  std::multimap<std::string, const Schema*> by_op;
  const auto all = schemas();
  for (const Schema& s : all) by_op.emplace(s.op, &s);
  std::set<std::string> seen;
  size_t run = 0, failed = 0;
  for (const Case& c : cases()) {
    if (c.outs.empty()) continue;
    const auto [first, last] = by_op.equal_range(c.op);
    for (auto it = first; it != last; ++it) {
      const std::string bad = KernelCase().run(c, *it->second);
      if (bad == "skip") continue;
      ++run;
      seen.insert(it->second->kernel);
      failed += !bad.empty();
      EXPECT_EQ(bad, "") << c.where << " " << c.op << " by " << it->second->kernel;
    }
  }
  RecordProperty("cases", static_cast<int>(run));
  std::printf("%zu cases, %zu kernels, %zu failed\n", run, seen.size(), failed);
  EXPECT_GE(run, 1000u);
}

TEST(Kernels, are_found_by_name_and_only_so) {
  for (const auto table : kernel_tables())
    for (const Kernel& k : table) EXPECT_EQ(find_kernel(k.name), &k) << k.name;
  EXPECT_EQ(find_kernel("aten::add"), nullptr);
  EXPECT_EQ(find_kernel(""), nullptr);
}

}  // namespace
}  // namespace edgewright::runtime
