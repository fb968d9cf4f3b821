#include "ops/op_def.h"

#include <mutex>
#include <unordered_map>

#include "ops/build.h"

namespace edgewright::ops {

// Made by the build from the file names of this folder (see CMakeLists.txt).
std::vector<OpDef> all_definitions();

namespace {
struct Registry {
  std::vector<OpDef> defs;
  std::unordered_map<std::string, const OpDef*> by_name;
  std::unordered_map<std::string, std::unique_ptr<OpDef>> derived;  // in-place forms, made when first asked for
  std::mutex mutex;

  Registry() : defs(all_definitions()) {
    for (OpDef& d : defs) {
      auto s = ir::parse_schema(d.schema_text);
      if (!s) {
        fmt::print(stderr, "{}\n", s.error().str());
        EW_CHECK(s.has_value());
      }
      d.schema = std::move(*s);
      d.name = d.schema.name;
      const bool fresh = by_name.emplace(d.name, &d).second;
      if (!fresh) fmt::print(stderr, "op '{}' is defined twice\n", d.name);
      EW_CHECK(fresh);
    }
  }
};
Registry& registry() {
  static Registry r;
  return r;
}
// "aten.add_.Tensor" -> "aten.add.Tensor"; "aten.__iadd__.Tensor" -> "aten.add.Tensor"; empty if not an in-place name.
std::string functional_name(std::string_view name) {
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const size_t second = name.find('.', dot + 1);
  std::string base(name.substr(dot + 1, second == std::string_view::npos ? std::string_view::npos : second - dot - 1));
  const std::string overload(second == std::string_view::npos ? "" : name.substr(second));
  if (base.starts_with("__i") && base.ends_with("__") && base.size() > 5) {
    base = base.substr(3, base.size() - 5);
    for (const char* bitwise : {"and", "or", "xor"})
      if (base == bitwise) base = "bitwise_" + base;
  } else if (base.size() > 1 && base.ends_with('_') && !base.starts_with("__")) {
    base.pop_back();
  } else {
    return {};
  }
  return std::string(name.substr(0, dot + 1)) + base + overload;
}
}  // namespace

const std::vector<OpDef>& table() { return registry().defs; }

const OpDef* find(std::string_view name) {
  Registry& r = registry();
  const std::string key(name);
  if (auto it = r.by_name.find(key); it != r.by_name.end()) return it->second;
  const std::string fname = functional_name(name);
  const auto f = r.by_name.find(fname);
  if (fname.empty() || f == r.by_name.end()) return nullptr;
  std::lock_guard lock(r.mutex);
  auto& slot = r.derived[key];
  if (!slot && !f->second->view_of.empty()) {
    // squeeze_, detach_: exported programs go on with the result, which is the view.
    slot = std::make_unique<OpDef>(*f->second);
    slot->name = slot->schema.name = key;
    slot->lower = nullptr;
    slot->stock.clear();
    slot->decompose = [view = f->second](const ir::Node& n, Builder& b) -> Result<std::vector<ir::Value*>> {
      return b.done(b.multi(view->name, n.args()));
    };
  }
  if (!slot) {
    slot = std::make_unique<OpDef>();
    slot->name = slot->schema.name = key;
    slot->schema = f->second->schema;
    slot->schema.name = key;
    if (!slot->schema.params.empty()) {
      slot->schema.params[0].is_mutated = true;
      slot->schema.params[0].name = "self";  // also where the functional op calls it input
    }
    slot->functional = f->second;
    // The result is the first parameter's tensor: its shape and dtype, whatever the functional op would promote to.
    slot->infer = [](const Call& c) -> Result<Types> { return Types{c.type(0)}; };
  }
  return slot.get();
}

namespace {
std::unexpected<Error> recorded(const OpDef& d, const Call& c) {
  return fail(Code::kUnsupported, "{}: {}", d.name, *c.failed());
}
}  // namespace

Result<Types> infer(const OpDef& d, const Call& c) {
  if (c.failed()) return recorded(d, c);
  if (!d.infer) return fail(Code::kUnsupported, "{}: no shape rule", d.name);
  auto r = d.infer(c);
  if (c.failed()) return recorded(d, c);
  return r;
}

Result<Point> point(const OpDef& d, const Call& c, size_t result) {
  if (c.failed()) return recorded(d, c);
  if (!d.eval) return fail(Code::kUnsupported, "{}: no element-wise meaning", d.name);
  auto r = d.eval(c, result);
  if (c.failed()) return recorded(d, c);
  return r;
}

}  // namespace edgewright::ops
