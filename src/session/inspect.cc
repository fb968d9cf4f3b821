// src/session/inspect.cc - tells what files hold.
#include "session/inspect.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "base/file.h"
#include "format/pte.h"
#include "format/xnn_payload.h"
#include "ir/text.h"
#include "session/source.h"

namespace edgewright::session {
namespace {

class Counter {
 public:
  void add(std::string_view op) { ++counts_[std::string(op)]; }
  std::vector<OpCount> take() const {
    std::vector<OpCount> all;
    for (const auto& [op, n] : counts_) all.push_back({op, n});
    std::stable_sort(all.begin(), all.end(), [](const OpCount& a, const OpCount& b) { return a.count > b.count; });
    return all;
  }

 private:
  std::map<std::string, int> counts_;
};

const char* name_of(xnn::Datatype t) {
  static constexpr const char* kNames[] = {"invalid", "f32",    "f16",     "qint8",  "quint8",
                                           "qint32",  "qcint8", "qcint32", "qcint4", "qdint8",
                                           "qbint4",  "qpint8", "i32",     "pfp32",  "bf16"};
  const auto i = static_cast<size_t>(t);
  return i < std::size(kNames) ? kNames[i] : "?";
}

// Lines as "%3 = Conv2d(%0, const f32[16,3,3,1], const f32[16]) kernel 3x3, padding 1 1 1 1, clamp [0, 6] : f32[1,8,8,16]".
class XnnPrinter {
 public:
  explicit XnnPrinter(const xnn::Graph& g) {
    for (const xnn::Value& v : g.values) by_id_[v.id] = &v;
  }

  std::string line(const xnn::Node& n) const {
    std::vector<std::string> in, out, types;
    for (const uint32_t id : n.inputs)
      if (id != xnn::kInvalidId) in.push_back(operand(id));
    for (const uint32_t id : n.outputs) {
      out.push_back(fmt::format("%{}", id));
      types.push_back(type(id));
    }
    return fmt::format("{} = {}({}){} : {}", fmt::join(out, ", "), xnn::name(n.kind), fmt::join(in, ", "), details(n),
                       fmt::join(types, ", "));
  }

 private:
  const xnn::Value* find(uint32_t id) const {
    const auto it = by_id_.find(id);
    return it == by_id_.end() ? nullptr : it->second;
  }
  std::string type(uint32_t id) const {
    const xnn::Value* v = find(id);
    return v ? fmt::format("{}[{}]", name_of(v->datatype), fmt::join(v->dims, ",")) : "?";
  }
  std::string operand(uint32_t id) const {
    const xnn::Value* v = find(id);
    return v && v->constant ? "const " + type(id) : fmt::format("%{}", id);
  }
  static std::string details(const xnn::Node& n) {
    using enum xnn::NodeKind;
    std::string s;
    const auto add = [&]<class... A>(fmt::format_string<A...> f, A&&... a) {
      s += s.empty() ? " " : ", ";
      s += fmt::format(f, std::forward<A>(a)...);
    };
    const xnn::ConvParams& c = n.conv;
    switch (n.kind) {
      case kConv2d:
      case kDepthwiseConv2d:
      case kConvTranspose2d:
      case kMaxPooling2d:
      case kAvgPooling2d:
      case kArgMaxPooling2d:
        add("kernel {}x{}", c.kernel_height, c.kernel_width);
        if (c.stride_height != 1 || c.stride_width != 1) add("stride {}x{}", c.stride_height, c.stride_width);
        if (c.dilation_height > 1 || c.dilation_width > 1) add("dilation {}x{}", c.dilation_height, c.dilation_width);
        if (c.padding_top || c.padding_right || c.padding_bottom || c.padding_left)
          add("padding {} {} {} {}", c.padding_top, c.padding_right, c.padding_bottom, c.padding_left);
        if (c.groups > 1) add("groups {}", c.groups);
        break;
      case kStaticTranspose: add("perm [{}]", fmt::join(n.dims, ",")); break;
      case kStaticReshape: add("shape [{}]", fmt::join(n.dims, ",")); break;
      case kStaticSlice: add("from [{}] sizes [{}]", fmt::join(n.dims, ","), fmt::join(n.dims2, ",")); break;
      case kStaticConstantPad:
        add("before [{}] after [{}] value {}", fmt::join(n.dims, ","), fmt::join(n.dims2, ","), n.value);
        break;
      case kStaticResizeBilinear2d: add("to [{}]", fmt::join(n.dims, ",")); break;
      case kLeakyRelu:
      case kElu: add("{}", n.value); break;
      case kConcatenate2:
      case kConcatenate3:
      case kConcatenate4:
      case kConcatenate5: add("axis {}", static_cast<int32_t>(n.axis)); break;
      default: break;
    }
    if (n.output_min_max) add("clamp [{}, {}]", (*n.output_min_max)[0], (*n.output_min_max)[1]);
    if (n.flags) add("flags {:#x}", n.flags);
    return s;
  }
  std::unordered_map<uint32_t, const xnn::Value*> by_id_;
};

DelegateInfo delegate_of(const pte::Program& p, const pte::Plan& plan, const pte::Delegate& d) {
  DelegateInfo info;
  info.id = d.id;
  info.method = plan.name;
  const Bytes payload = p.payloads[d.payload];
  info.payload_bytes = payload.size();
  if (d.id != "XnnpackBackend") {
    info.problem = "not an XNNPACK payload";
    return info;
  }
  const auto graph = xnn::parse(payload);
  if (!graph) {
    info.problem = graph.error().str();
    return info;
  }
  Counter kinds;
  const XnnPrinter printer(*graph);
  for (const xnn::Node& n : graph->nodes) {
    kinds.add(xnn::name(n.kind));
    info.graph.push_back(printer.line(n));
  }
  info.nodes = kinds.take();
  for (const xnn::Constant& c : graph->constants) info.constant_bytes += c.size;
  return info;
}

// Constants reach from their offset to their segment's end when read: their own sizes are those of the tensors that use them.
void count_constants(const pte::Program& p, Inspection& into) {
  std::map<uint32_t, uint64_t> sizes;
  for (const pte::Plan& plan : p.plans)
    for (const pte::Value& v : plan.values)
      if (const auto* t = std::get_if<pte::Tensor>(&v); t && !t->allocation && t->buffer > 0)
        sizes[t->buffer] = std::max(sizes[t->buffer], pte::byte_size(*t));
  into.constants = sizes.size() + p.named_blobs.size();
  for (const auto& [_, bytes] : sizes) into.constant_bytes += bytes;
  for (const Bytes b : p.named_blobs) into.constant_bytes += b.size();
}

std::string name_of(const pte::Plan& plan, const pte::Instruction& instruction) {
  struct {
    const pte::Plan& plan;
    std::string operator()(const pte::KernelCall& c) const {
      const pte::Operator& op = plan.operators[static_cast<size_t>(c.op)];
      return op.overload.empty() ? op.name : op.name + "." + op.overload;
    }
    std::string operator()(const pte::DelegateCall& c) const {
      return fmt::format("delegate {} ({})", c.delegate, plan.delegates[static_cast<size_t>(c.delegate)].id);
    }
    std::string operator()(const pte::MoveCall&) const { return "move"; }
    std::string operator()(const pte::JumpFalseCall&) const { return "jump if false"; }
    std::string operator()(const pte::FreeCall&) const { return "free"; }
  } text{plan};
  return std::visit(text, instruction);
}

Result<Inspection> inspect_pte(const MappedFile& file) {
  Inspection all;
  all.kind = "pte";
  all.file_bytes = file.bytes().size();
  auto parsed = pte::parse(file.bytes());
  if (!parsed) return with_note(std::move(parsed.error()), file.path());
  const pte::Program& p = *parsed;
  count_constants(p, all);
  for (const pte::Plan& plan : p.plans) {
    MethodInfo& m = all.methods.emplace_back();
    m.signature = signature_of(plan);
    m.in_spec = plan.container_inputs;
    m.out_spec = plan.container_outputs;
    m.arena.assign(plan.buffer_sizes.begin() + (plan.buffer_sizes.empty() ? 0 : 1), plan.buffer_sizes.end());
    Counter ops;
    for (const pte::Chain& chain : plan.chains)
      for (const pte::Instruction& i : chain.instructions) ops.add(name_of(plan, i));
    m.ops = ops.take();
    for (const pte::Value& v : plan.values)
      if (const auto* t = std::get_if<pte::Tensor>(&v)) m.mutable_buffers += t->allocation && t->buffer > 0;
    for (const pte::Delegate& d : plan.delegates) m.delegates.push_back(delegate_of(p, plan, d));
  }
  return all;
}

void count_ops(const ir::Graph& g, Counter& ops) {
  for (const auto& n : g.nodes()) {
    ops.add(n->name());
    for (const ir::Arg& a : n->args())
      if (a.graph() && *a.graph()) count_ops(**a.graph(), ops);
  }
}

Result<Inspection> inspect_pt2(const std::string& path, const std::string& model, bool with_graph) {
  EW_ASSIGN(const Source source, open_pt2(path, model));
  Inspection all;
  all.kind = "pt2";
  std::set<const std::byte*> seen;
  for (const ir::Program& p : source.programs) {
    all.torch_version = p.torch_version;
    all.has_sample_inputs |= p.sample_inputs.has_value();
    MethodInfo& m = all.methods.emplace_back();
    m.signature = signature_of(p);
    m.in_spec = p.in_spec;
    m.out_spec = p.out_spec;
    m.mutable_buffers = p.graph->states().size();
    Counter ops;
    count_ops(*p.graph, ops);
    m.ops = ops.take();
    if (with_graph) m.graph = ir::print(*p.graph, {.origins = true, .ranges = &p.ranges});
    const auto add = [&](const std::vector<ir::Value*>& values) {
      for (const ir::Value* v : values) {
        if (!v->data || !seen.insert(v->data->data).second) continue;
        ++all.constants;
        all.constant_bytes += v->data->nbytes();
      }
    };
    add(p.graph->constants());
    add(p.graph->states());
  }
  return all;
}

}  // namespace

Result<Inspection> inspect(const std::string& path, const std::string& model, bool with_graph) {
  EW_ASSIGN(const auto file, MappedFile::open(path));
  EW_ASSIGN(const FileKind kind, kind_of_file(*file));
  if (kind == FileKind::kPte) return inspect_pte(*file);
  EW_ASSIGN(Inspection all, inspect_pt2(path, model, with_graph));
  all.file_bytes = file->bytes().size();
  return all;
}

}  // namespace edgewright::session
