#include "format/pte.h"

#include <bitset>

#include "base/checked.h"
#include "format/flat.h"
#include "format/program_generated.h"

namespace edgewright::pte {
namespace {

constexpr size_t kHeaderAt = 8, kHeaderMinimum = 24;
constexpr int kMaxRank = 16;  // stock: kTensorDimensionLimit

class Parser {
 public:
  explicit Parser(Bytes file) : file_(file), budget_(0) {}

  Result<Program> run() {
    EW_TRY(locate());
    std::unique_ptr<std::byte[]> copy;
    const Bytes flat = flat::aligned(file_.first(program_size_), copy);
    if (!flat::verify<fb::Program>(flat)) return fail(Code::kMalformed, "the program's flatbuffer does not verify");
    budget_ = flat::Budget(program_size_);
    const fb::Program* root = fb::GetProgram(flat.data());
    Program p;
    p.version = root->version();
    EW_TRY(segments(*root));
    EW_TRY(data(*root, p, flat));
    for (uint32_t i = 0; i < flat::count(root->plans()); ++i) {
      Plan plan;
      if (auto r = parse_plan(*root->plans()->Get(i), p, plan); !r)
        return with_note(std::move(r.error()), fmt::format("method {}", i));
      p.plans.push_back(std::move(plan));
    }
    return p;
  }

 private:
  Result<void> spend(uint64_t bytes) {
    if (!budget_.take(bytes)) return fail(Code::kMalformed, "the program's tables are shared beyond reason");
    return {};
  }
  template <class Out, class T>
  Result<void> copy(const flatbuffers::Vector<T>* from, std::vector<Out>& to) {
    if (!flat::copy(from, to, budget_)) return spend(UINT64_MAX);
    return {};
  }
  Result<std::string> text(const flatbuffers::String* s) {
    EW_TRY(spend(s ? s->size() + sizeof(std::string) : 0));
    return flat::str(s);
  }

  // Finds the flatbuffer's end and the segment base from the extended header.
  Result<void> locate() {
    if (!looks_like_pte(file_)) return fail(Code::kMalformed, "not a .pte file: no identifier ET12");
    program_size_ = file_.size();
    if (file_.size() >= kHeaderAt + kHeaderMinimum && std::memcmp(file_.data() + kHeaderAt, "eh00", 4) == 0) {
      const uint32_t length = flat::u32_at(file_, kHeaderAt + 4);
      if (length < kHeaderMinimum) return fail(Code::kMalformed, "extended header of {} bytes", length);
      program_size_ = flat::u64_at(file_, kHeaderAt + 8);
      segment_base_ = flat::u64_at(file_, kHeaderAt + 16);
      if (program_size_ > file_.size() || segment_base_ > file_.size())
        return fail(Code::kMalformed,
                    "truncated: the header tells of {} bytes of program and segments at {}, the file has {}",
                    program_size_, segment_base_, file_.size());
    }
    if (program_size_ < kHeaderAt || program_size_ >= flat::kMaxFlatbuffer)
      return fail(Code::kMalformed, "program of {} bytes", program_size_);
    return {};
  }

  Result<void> segments(const fb::Program& root) {
    const uint64_t space = file_.size() - segment_base_;
    for (uint32_t i = 0; i < flat::count(root.segments()); ++i) {
      const fb::Segment* s = root.segments()->Get(i);
      // A file whose segments are all empty has no extended header.
      if (segment_base_ == 0 && s->size() > 0) return fail(Code::kMalformed, "segments without an extended header");
      if (s->offset() > space || s->size() > space - s->offset())
        return fail(Code::kMalformed, "truncated: segment {} is {} bytes at {}, beyond the file's end", i, s->size(),
                    s->offset());
      EW_TRY(spend(sizeof(Bytes)));
      segments_.push_back(file_.subspan(segment_base_ + s->offset(), s->size()));
    }
    return {};
  }

  Result<void> offsets(const fb::SegmentOffsets& from, const char* what, std::vector<Bytes>& to) {
    if (flat::count(from.offsets()) == 0) return {};
    // A program whose only constant is the reserved one may have no bytes and no segment.
    const Bytes segment = from.segment() < segments_.size() ? segments_[from.segment()] : Bytes();
    if (from.segment() >= segments_.size() && from.offsets()->size() > 1)
      return fail(Code::kMalformed, "{} lie in segment {} of {}", what, from.segment(), segments_.size());
    EW_TRY(spend(uint64_t{from.offsets()->size()} * sizeof(Bytes)));
    for (uint32_t i = 0; i < from.offsets()->size(); ++i) {
      const uint64_t at = flat::element(from.offsets(), i);
      if (at > segment.size()) return fail(Code::kMalformed, "{} {}: offset {} is beyond its segment", what, i, at);
      to.push_back(i == 0 ? Bytes() : segment.subspan(at));
    }
    return {};
  }

  // Bytes of the file itself: `flat` may be a copy.
  Bytes original(const flatbuffers::Vector<uint8_t>* v, Bytes flat) const {
    if (flat::count(v) == 0) return {};
    const auto at = static_cast<size_t>(reinterpret_cast<const std::byte*>(v->data()) - flat.data());
    return file_.subspan(at, v->size());
  }

  Result<void> data(const fb::Program& root, Program& p, Bytes flat) {
    EW_TRY(
        spend(sizeof(Bytes) * (uint64_t{flat::count(root.inline_constants())} + flat::count(root.inline_delegates()))));
    for (uint32_t i = 0; i < flat::count(root.inline_constants()); ++i)
      p.constants.push_back(original(root.inline_constants()->Get(i)->bytes(), flat));
    if (root.constant_segment()) {
      if (!p.constants.empty() && flat::count(root.constant_segment()->offsets()) > 0)
        return fail(Code::kMalformed, "constants both inline and in a segment");
      EW_TRY(offsets(*root.constant_segment(), "constants", p.constants));
    }
    for (uint32_t i = 0; i < flat::count(root.mutable_segments()); ++i) {
      EW_TRY(spend(sizeof(size_t)));
      mutable_base_.push_back(p.mutable_data.size());
      EW_TRY(offsets(*root.mutable_segments()->Get(i), "mutable data", p.mutable_data));
    }
    for (uint32_t i = 0; i < flat::count(root.inline_delegates()); ++i)
      p.payloads.push_back(original(root.inline_delegates()->Get(i)->bytes(), flat));
    inline_payloads_ = p.payloads.size();
    p.payloads.insert(p.payloads.end(), segments_.begin(), segments_.end());
    p.named_blobs = segments_;
    EW_TRY(spend(2 * sizeof(Bytes) * segments_.size()));
    for (uint32_t i = 0; i < flat::count(root.named_data()); ++i) {
      const fb::NamedData* n = root.named_data()->Get(i);
      EW_ASSIGN(std::string key, text(n->key()));
      if (n->segment() >= segments_.size())
        return fail(Code::kMalformed, "named data '{}': no segment {}", key, n->segment());
      EW_TRY(spend(sizeof(NamedData)));
      p.named_data.push_back({std::move(key), n->segment()});
    }
    return {};
  }

  Result<void> indices(const std::vector<int32_t>& v, size_t limit, const char* what, int32_t lowest = 0) const {
    for (int32_t i : v)
      if (i < lowest || (i >= 0 && static_cast<size_t>(i) >= limit))
        return fail(Code::kMalformed, "{}: no value {}", what, i);
    return {};
  }

  Result<void> parse_plan(const fb::Plan& from, const Program& p, Plan& to) {
    EW_TRY(spend(sizeof(Plan)));
    EW_ASSIGN(to.name, text(from.name()));
    if (from.container()) {
      EW_ASSIGN(to.container_inputs, text(from.container()->inputs()));
      EW_ASSIGN(to.container_outputs, text(from.container()->outputs()));
    }
    EW_TRY(copy(from.buffer_sizes(), to.buffer_sizes));
    for (int64_t s : to.buffer_sizes)
      if (s < 0) return fail(Code::kMalformed, "a buffer of {} bytes", s);
    for (uint32_t i = 0; i < flat::count(from.buffer_devices()); ++i)
      if (from.buffer_devices()->Get(i)->device_type() != 0)
        return fail(Code::kUnsupported, "buffer {} lies on another device than the CPU", i);
    const uint32_t n = flat::count(from.values());
    for (uint32_t i = 0; i < n; ++i) {
      EW_TRY(spend(sizeof(Value)));
      Value v;
      if (auto r = parse_value(*from.values()->Get(i), p, to, n, v); !r)
        return with_note(std::move(r.error()), fmt::format("value {}", i));
      to.values.push_back(std::move(v));
    }
    // Lists may name values that come later, so their kinds are checked once all are there.
    for (uint32_t i = 0; i < n; ++i) EW_TRY(list_kinds(i, to));
    EW_TRY(copy(from.inputs(), to.inputs));
    EW_TRY(copy(from.outputs(), to.outputs));
    EW_TRY(indices(to.inputs, n, "inputs"));
    EW_TRY(indices(to.outputs, n, "outputs"));
    for (uint32_t i = 0; i < flat::count(from.operators()); ++i) {
      EW_TRY(spend(sizeof(Operator)));
      Operator op;
      EW_ASSIGN(op.name, text(from.operators()->Get(i)->name()));
      EW_ASSIGN(op.overload, text(from.operators()->Get(i)->overload()));
      to.operators.push_back(std::move(op));
    }
    for (uint32_t i = 0; i < flat::count(from.delegates()); ++i) {
      EW_TRY(spend(sizeof(Delegate)));
      Delegate d;
      EW_TRY(parse_delegate(*from.delegates()->Get(i), p, d));
      to.delegates.push_back(std::move(d));
    }
    for (uint32_t i = 0; i < flat::count(from.chains()); ++i) {
      EW_TRY(spend(sizeof(Chain)));
      Chain c;
      EW_TRY(parse_chain(*from.chains()->Get(i), to, c));
      to.chains.push_back(std::move(c));
    }
    return {};
  }

  Result<void> list_kinds(uint32_t at, const Plan& plan) const {
    if (const auto* l = std::get_if<IntList>(&plan.values[at])) {
      for (int64_t i : l->items)
        if (!std::holds_alternative<int64_t>(plan.values[static_cast<size_t>(i)]))
          return fail(Code::kMalformed, "value {}: an int list names value {}, which is no int", at, i);
    } else if (const auto* l = std::get_if<TensorList>(&plan.values[at])) {
      for (int32_t i : l->items)
        if (!std::holds_alternative<Tensor>(plan.values[static_cast<size_t>(i)]))
          return fail(Code::kMalformed, "value {}: a tensor list names value {}, which is no tensor", at, i);
    } else if (const auto* l = std::get_if<OptionalTensorList>(&plan.values[at])) {
      for (int32_t i : l->items)
        if (i >= 0 && !std::holds_alternative<Tensor>(plan.values[static_cast<size_t>(i)]) &&
            !std::holds_alternative<Null>(plan.values[static_cast<size_t>(i)]))
          return fail(Code::kMalformed, "value {}: a tensor list names value {}, which is no tensor", at, i);
    }
    return {};
  }

  Result<void> parse_value(const fb::Value& from, const Program& p, const Plan& plan, uint32_t n, Value& to) {
    if (!from.val()) return fail(Code::kMalformed, "no content");
    switch (from.val_type()) {
      case fb::Kind::Null: to = Null{}; return {};
      case fb::Kind::Int: to = from.val_as_Int()->value(); return {};
      case fb::Kind::Bool: to = from.val_as_Bool()->value(); return {};
      case fb::Kind::Double: to = from.val_as_Double()->value(); return {};
      case fb::Kind::Tensor: {
        Tensor t;
        EW_TRY(parse_tensor(*from.val_as_Tensor(), p, plan, t));
        to = std::move(t);
        return {};
      }
      case fb::Kind::String: {
        EW_ASSIGN(to, text(from.val_as_String()->value()));
        return {};
      }
      case fb::Kind::IntList: {
        IntList l;
        EW_TRY(copy(from.val_as_IntList()->items(), l.items));
        for (int64_t i : l.items)
          if (i < 0 || i >= n) return fail(Code::kMalformed, "int list: no value {}", i);
        to = std::move(l);
        return {};
      }
      case fb::Kind::DoubleList: {
        DoubleList l;
        EW_TRY(copy(from.val_as_DoubleList()->items(), l.items));
        to = std::move(l);
        return {};
      }
      case fb::Kind::BoolList: {
        BoolList l;
        EW_TRY(copy(from.val_as_BoolList()->items(), l.items));
        to = std::move(l);
        return {};
      }
      case fb::Kind::TensorList: {
        TensorList l;
        EW_TRY(copy(from.val_as_TensorList()->items(), l.items));
        EW_TRY(indices(l.items, n, "tensor list"));
        to = std::move(l);
        return {};
      }
      case fb::Kind::OptionalTensorList: {
        OptionalTensorList l;
        EW_TRY(copy(from.val_as_OptionalTensorList()->items(), l.items));
        EW_TRY(indices(l.items, n, "optional tensor list", -1));
        to = std::move(l);
        return {};
      }
      case fb::Kind::NONE: break;
    }
    return fail(Code::kMalformed, "unknown kind of value {}", static_cast<int>(from.val_type()));
  }

  Result<void> parse_tensor(const fb::Tensor& from, const Program& p, const Plan& plan, Tensor& t) {
    t.dtype = static_cast<DType>(from.dtype());
    if (size_of(t.dtype) == 0) return fail(Code::kMalformed, "unknown element type {}", from.dtype());
    if (from.storage_offset() != 0) return fail(Code::kUnsupported, "storage offset {}", from.storage_offset());
    EW_TRY(copy(from.sizes(), t.sizes));
    EW_TRY(copy(from.dim_order(), t.dim_order));
    if (t.sizes.size() > kMaxRank) return fail(Code::kUnsupported, "tensor of {} dimensions", t.sizes.size());
    if (t.dim_order.size() != t.sizes.size())
      return fail(Code::kMalformed, "{} sizes but a dim order of {}", t.sizes.size(), t.dim_order.size());
    std::bitset<kMaxRank> seen;
    for (uint8_t d : t.dim_order) {
      if (d >= t.sizes.size() || seen[d]) return fail(Code::kMalformed, "the dim order is no permutation");
      seen.set(d);
    }
    int64_t bytes = static_cast<int64_t>(size_of(t.dtype));
    // Checked without regard to zeros, so that strides cannot overflow either.
    for (int32_t s : t.sizes) {
      if (s < 0) return fail(Code::kMalformed, "negative size {}", s);
      const auto b = checked_mul(bytes, std::max(s, 1));
      if (!b) return fail(Code::kMalformed, "the tensor's size overflows");
      bytes = *b;
    }
    t.requires_grad = from.requires_grad();
    t.buffer = from.buffer();
    if (from.dynamism() < 0 || from.dynamism() > 2)
      return fail(Code::kMalformed, "unknown dynamism {}", from.dynamism());
    t.dynamism = static_cast<Dynamism>(from.dynamism());
    uint64_t mutable_segment = 0;
    if (const fb::TensorExtra* extra = from.extra()) {
      t.has_extra = true;
      EW_ASSIGN(t.name, text(extra->name()));
      if (extra->location() < 0 || extra->location() > 1)
        return fail(Code::kMalformed, "unknown data location {}", extra->location());
      t.external = extra->location() == 1;
      if (extra->device_type() != 0) return fail(Code::kUnsupported, "tensor on another device than the CPU");
      mutable_segment = extra->mutable_segment();
    }
    const uint64_t size = byte_size(t);
    if (const fb::Allocation* a = from.allocation()) {
      t.allocation = Allocation{a->memory_id(), uint64_t{a->offset_high()} << 32 | a->offset_low()};
      if (a->memory_id() == 0 || a->memory_id() >= plan.buffer_sizes.size())
        return fail(Code::kMalformed, "no memory buffer {}", a->memory_id());
      const auto room = static_cast<uint64_t>(plan.buffer_sizes[a->memory_id()]);
      if (t.allocation->offset > room || size > room - t.allocation->offset)
        return fail(Code::kMalformed, "{} bytes at {} do not fit memory buffer {} of {}", size, t.allocation->offset,
                    a->memory_id(), room);
    }
    if (t.external || t.buffer == 0) return {};
    if (t.allocation) {
      if (mutable_segment >= mutable_base_.size() || t.buffer >= p.mutable_data.size() - mutable_base_[mutable_segment])
        return fail(Code::kMalformed, "no initial data {} in mutable segment {}", t.buffer, mutable_segment);
      t.buffer += static_cast<uint32_t>(mutable_base_[mutable_segment]);
    } else if (t.buffer >= p.constants.size()) {
      return fail(Code::kMalformed, "no constant {}", t.buffer);
    }
    const Bytes room = t.allocation ? p.mutable_data[t.buffer] : p.constants[t.buffer];
    if (size > room.size())
      return fail(Code::kMalformed, "truncated: the tensor needs {} bytes of data, {} are there", size, room.size());
    return {};
  }

  Result<void> parse_delegate(const fb::Delegate& from, const Program& p, Delegate& to) {
    EW_ASSIGN(to.id, text(from.id()));
    const fb::DataReference* ref = from.processed();
    if (!ref) return fail(Code::kMalformed, "delegate '{}' has no payload", to.id);
    const bool in_segment = ref->location() == 1;
    if (ref->location() < 0 || ref->location() > 1 ||
        ref->index() >= (in_segment ? segments_.size() : inline_payloads_))
      return fail(Code::kMalformed, "delegate '{}': no payload {}", to.id, ref->index());
    to.payload = ref->index() + (in_segment ? static_cast<uint32_t>(inline_payloads_) : 0);
    for (uint32_t i = 0; i < flat::count(from.specs()); ++i) {
      EW_TRY(spend(sizeof(CompileSpec)));
      CompileSpec s;
      EW_ASSIGN(s.key, text(from.specs()->Get(i)->key()));
      EW_TRY(copy(from.specs()->Get(i)->value(), s.value));
      to.specs.push_back(std::move(s));
    }
    return {};
  }

  Result<void> parse_chain(const fb::Chain& from, const Plan& plan, Chain& to) {
    const size_t n = plan.values.size();
    EW_TRY(copy(from.inputs(), to.inputs));
    EW_TRY(copy(from.outputs(), to.outputs));
    EW_TRY(indices(to.inputs, n, "chain inputs"));
    EW_TRY(indices(to.outputs, n, "chain outputs"));
    const uint32_t count = flat::count(from.instructions());
    for (uint32_t i = 0; i < count; ++i) {
      EW_TRY(spend(sizeof(Instruction)));
      Instruction inst;
      if (auto r = parse_call(*from.instructions()->Get(i), plan, count, inst); !r)
        return with_note(std::move(r.error()), fmt::format("instruction {}", i));
      to.instructions.push_back(std::move(inst));
    }
    return {};
  }

  Result<void> parse_call(const fb::Instruction& from, const Plan& plan, uint32_t count, Instruction& to) {
    const size_t n = plan.values.size();
    if (!from.call()) return fail(Code::kMalformed, "no content");
    switch (from.call_type()) {
      case fb::Call::KernelCall: {
        const auto* c = from.call_as_KernelCall();
        KernelCall k{.op = c->op()};
        EW_TRY(copy(c->args(), k.args));
        if (k.op < 0 || static_cast<size_t>(k.op) >= plan.operators.size())
          return fail(Code::kMalformed, "no operator {}", k.op);
        EW_TRY(indices(k.args, n, "operator arguments"));
        to = std::move(k);
        return {};
      }
      case fb::Call::DelegateCall: {
        const auto* c = from.call_as_DelegateCall();
        DelegateCall d{.delegate = c->delegate()};
        EW_TRY(copy(c->args(), d.args));
        if (d.delegate < 0 || static_cast<size_t>(d.delegate) >= plan.delegates.size())
          return fail(Code::kMalformed, "no delegate {}", d.delegate);
        EW_TRY(indices(d.args, n, "delegate arguments"));
        to = std::move(d);
        return {};
      }
      case fb::Call::MoveCall: {
        const auto* c = from.call_as_MoveCall();
        EW_TRY(indices({c->from(), c->to()}, n, "move"));
        to = MoveCall{c->from(), c->to()};
        return {};
      }
      case fb::Call::JumpFalseCall: {
        const auto* c = from.call_as_JumpFalseCall();
        EW_TRY(indices({c->cond()}, n, "jump condition"));
        if (c->target() < 0 || static_cast<uint32_t>(c->target()) > count)
          return fail(Code::kMalformed, "jump to instruction {}", c->target());
        to = JumpFalseCall{c->cond(), c->target()};
        return {};
      }
      case fb::Call::FreeCall:
        EW_TRY(indices({from.call_as_FreeCall()->value()}, n, "free"));
        to = FreeCall{from.call_as_FreeCall()->value()};
        return {};
      case fb::Call::NONE: break;
    }
    return fail(Code::kMalformed, "unknown kind of instruction {}", static_cast<int>(from.call_type()));
  }

  Bytes file_;
  flat::Budget budget_;
  uint64_t program_size_ = 0, segment_base_ = 0;
  std::vector<Bytes> segments_;
  std::vector<size_t> mutable_base_;  // where each mutable segment's entries begin in Program::mutable_data
  size_t inline_payloads_ = 0;
};

}  // namespace

bool looks_like_pte(Bytes file) { return file.size() >= kHeaderAt && std::memcmp(file.data() + 4, "ET12", 4) == 0; }

Result<Program> parse(Bytes file) { return Parser(file).run(); }

uint64_t byte_size(const Tensor& t) {
  uint64_t n = size_of(t.dtype);
  for (int32_t s : t.sizes) n *= static_cast<uint64_t>(s);
  return n;
}

Bytes initial_data(const Program& p, const Tensor& t) {
  if (t.buffer == 0 || t.external) return {};
  return (t.allocation ? p.mutable_data[t.buffer] : p.constants[t.buffer]).first(byte_size(t));
}

const Bytes* Program::find_named(std::string_view key) const {
  for (const NamedData& n : named_data)
    if (n.key == key) return &named_blobs[n.blob];
  return nullptr;
}

}  // namespace edgewright::pte
