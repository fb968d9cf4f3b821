#include "format/pte_build.h"

#include "format/flat.h"
#include "format/program_generated.h"

namespace edgewright::pte {
namespace {

constexpr uint32_t kHeaderLength =
    32;  // a multiple of flat::kAlignment, so that inserting it keeps the flatbuffer aligned

uint64_t align_up(uint64_t n, uint64_t a) { return (n + a - 1) / a * a; }

class Builder {
 public:
  Builder(const Program& p, Blobs blobs) : p_(p), blobs_(std::move(blobs)), b_(1024) {}

  Result<Pieces> run() {
    lay_out();
    std::vector<flatbuffers::Offset<fb::Plan>> plans;
    for (const Plan& plan : p_.plans) {
      EW_ASSIGN(auto offset, build_plan(plan));
      plans.push_back(offset);
    }
    std::vector<flatbuffers::Offset<fb::Segment>> segments;
    for (const auto& [offset, size] : extents_) segments.push_back(fb::CreateSegment(b_, offset, size));
    std::vector<flatbuffers::Offset<fb::NamedData>> named;
    for (const NamedData& n : p_.named_data) {
      if (n.blob >= blobs_.named.size()) return fail(Code::kInternal, "named data '{}' has no blob {}", n.key, n.blob);
      named.push_back(fb::CreateNamedData(b_, b_.CreateString(n.key), first_named_ + n.blob));
    }
    std::vector<flatbuffers::Offset<fb::SegmentOffsets>> mutables;
    if (!mutable_offsets_.empty())
      mutables.push_back(fb::CreateSegmentOffsets(b_, mutable_segment_, b_.CreateVector(mutable_offsets_)));
    // Stock writes offset 0 of the reserved constant even where there is no constant, and then needs a segment for it.
    const auto constants = fb::CreateSegmentOffsets(b_, 0, b_.CreateVector(constant_offsets_));
    const auto plan_list = b_.CreateVector(plans);
    const auto empty_constants = b_.CreateVector(std::vector<flatbuffers::Offset<fb::InlineConstant>>());
    const auto empty_delegates = b_.CreateVector(std::vector<flatbuffers::Offset<fb::InlineDelegate>>());
    const auto segment_list = b_.CreateVector(segments);
    const auto mutable_list = mutables.empty() ? 0 : b_.CreateVector(mutables);
    const auto named_list = b_.CreateVector(named);
    b_.Finish(fb::CreateProgram(b_, p_.version, plan_list, empty_constants, empty_delegates, segment_list, constants,
                                mutable_list, named_list),
              fb::ProgramIdentifier());
    return assemble();
  }

 private:
  // Decides the segments: constants, mutable data, payloads, named data, in stock's order.
  void lay_out() {
    Pieces constants;
    if (blobs_.constants.empty()) blobs_.constants.emplace_back();
    for (Bytes c : blobs_.constants) {
      constants.pad_to(kConstantAlignment);
      constant_offsets_.push_back(constants.size());
      constants.borrow(c);
    }
    add_segment(std::move(constants));
    if (blobs_.mutable_data.size() > 1) {
      Pieces data;
      for (Bytes c : blobs_.mutable_data) {
        data.pad_to(kConstantAlignment);
        mutable_offsets_.push_back(data.size());
        data.borrow(c);
      }
      mutable_segment_ = static_cast<uint32_t>(extents_.size());
      add_segment(std::move(data));
    }
    first_payload_ = static_cast<uint32_t>(extents_.size());
    for (Pieces& p : blobs_.payloads) add_segment(std::move(p));
    first_named_ = static_cast<uint32_t>(extents_.size());
    for (Pieces& p : blobs_.named) add_segment(std::move(p));
  }

  void add_segment(Pieces s) {
    data_.pad_to(kSegmentAlignment);
    extents_.emplace_back(data_.size(), s.size());
    data_.take(std::move(s));
  }

  Result<flatbuffers::Offset<fb::Plan>> build_plan(const Plan& plan) {
    std::vector<flatbuffers::Offset<fb::Value>> values;
    for (const Value& v : plan.values) values.push_back(build_value(v));
    std::vector<flatbuffers::Offset<fb::Chain>> chains;
    for (const Chain& c : plan.chains) {
      std::vector<flatbuffers::Offset<fb::Instruction>> instructions;
      for (const Instruction& i : c.instructions) instructions.push_back(build_instruction(i));
      const auto inputs = b_.CreateVector(c.inputs), outputs = b_.CreateVector(c.outputs);
      chains.push_back(fb::CreateChain(b_, inputs, outputs, b_.CreateVector(instructions)));
    }
    std::vector<flatbuffers::Offset<fb::Operator>> operators;
    for (const Operator& o : plan.operators) {
      const auto name = b_.CreateString(o.name), overload = b_.CreateString(o.overload);
      operators.push_back(fb::CreateOperator(b_, name, overload));
    }
    std::vector<flatbuffers::Offset<fb::Delegate>> delegates;
    for (const Delegate& d : plan.delegates) {
      if (d.payload >= blobs_.payloads.size())
        return fail(Code::kInternal, "delegate '{}' has no payload {}", d.id, d.payload);
      std::vector<flatbuffers::Offset<fb::CompileSpec>> specs;
      for (const CompileSpec& s : d.specs) {
        const auto key = b_.CreateString(s.key);
        specs.push_back(fb::CreateCompileSpec(
            b_, key, b_.CreateVector(reinterpret_cast<const uint8_t*>(s.value.data()), s.value.size())));
      }
      const auto id = b_.CreateString(d.id);
      const auto processed = fb::CreateDataReference(b_, 1, first_payload_ + d.payload);
      delegates.push_back(fb::CreateDelegate(b_, id, processed, b_.CreateVector(specs)));
    }
    const auto name = b_.CreateString(plan.name);
    const auto container_in = b_.CreateString(plan.container_inputs),
               container_out = b_.CreateString(plan.container_outputs);
    const auto container = fb::CreateContainer(b_, container_in, container_out);
    const auto value_list = b_.CreateVector(values);
    const auto inputs = b_.CreateVector(plan.inputs), outputs = b_.CreateVector(plan.outputs);
    const auto chain_list = b_.CreateVector(chains);
    const auto operator_list = b_.CreateVector(operators);
    const auto delegate_list = b_.CreateVector(delegates);
    return fb::CreatePlan(b_, name, container, value_list, inputs, outputs, chain_list, operator_list, delegate_list,
                          b_.CreateVector(plan.buffer_sizes));
  }

  flatbuffers::Offset<fb::Value> build_value(const Value& v) {
    flatbuffers::Offset<void> o;
    switch (v.index()) {
      case 0: o = fb::CreateNull(b_).Union(); break;
      case 1: o = fb::CreateInt(b_, std::get<int64_t>(v)).Union(); break;
      case 2: o = fb::CreateBool(b_, std::get<bool>(v)).Union(); break;
      case 3: o = fb::CreateDouble(b_, std::get<double>(v)).Union(); break;
      case 4: o = build_tensor(std::get<Tensor>(v)).Union(); break;
      case 5: o = fb::CreateString(b_, b_.CreateString(std::get<std::string>(v))).Union(); break;
      case 6: o = fb::CreateIntList(b_, b_.CreateVector(std::get<IntList>(v).items)).Union(); break;
      case 7: o = fb::CreateDoubleList(b_, b_.CreateVector(std::get<DoubleList>(v).items)).Union(); break;
      case 8: {
        const auto& items = std::get<BoolList>(v).items;
        o = fb::CreateBoolList(b_, b_.CreateVector(std::vector<uint8_t>(items.begin(), items.end()))).Union();
        break;
      }
      case 9: o = fb::CreateTensorList(b_, b_.CreateVector(std::get<TensorList>(v).items)).Union(); break;
      case 10:
        o = fb::CreateOptionalTensorList(b_, b_.CreateVector(std::get<OptionalTensorList>(v).items)).Union();
        break;
    }
    return fb::CreateValue(b_, static_cast<fb::Kind>(v.index() + 1), o);
  }

  flatbuffers::Offset<fb::Tensor> build_tensor(const Tensor& t) {
    flatbuffers::Offset<fb::TensorExtra> extra;
    if (t.has_extra || t.external || !t.name.empty()) {
      const flatbuffers::Offset<flatbuffers::String> name = t.name.empty() ? 0 : b_.CreateString(t.name);
      extra = fb::CreateTensorExtra(b_, 0, name, t.external ? 1 : 0);
    }
    flatbuffers::Offset<fb::Allocation> allocation;
    if (t.allocation)
      allocation = fb::CreateAllocation(b_, t.allocation->memory_id, static_cast<uint32_t>(t.allocation->offset),
                                        static_cast<uint32_t>(t.allocation->offset >> 32));
    const auto sizes = b_.CreateVector(t.sizes);
    const auto dim_order = b_.CreateVector(t.dim_order);
    return fb::CreateTensor(b_, static_cast<int8_t>(t.dtype), 0, sizes, dim_order, t.requires_grad, t.buffer,
                            allocation, 0, static_cast<int8_t>(t.dynamism), extra);
  }

  flatbuffers::Offset<fb::Instruction> build_instruction(const Instruction& i) {
    flatbuffers::Offset<void> o;
    if (const auto* k = std::get_if<KernelCall>(&i))
      o = fb::CreateKernelCall(b_, k->op, b_.CreateVector(k->args)).Union();
    if (const auto* d = std::get_if<DelegateCall>(&i))
      o = fb::CreateDelegateCall(b_, d->delegate, b_.CreateVector(d->args)).Union();
    if (const auto* m = std::get_if<MoveCall>(&i)) o = fb::CreateMoveCall(b_, m->from, m->to).Union();
    if (const auto* j = std::get_if<JumpFalseCall>(&i)) o = fb::CreateJumpFalseCall(b_, j->cond, j->target).Union();
    if (const auto* f = std::get_if<FreeCall>(&i)) o = fb::CreateFreeCall(b_, f->value).Union();
    return fb::CreateInstruction(b_, static_cast<fb::Call>(i.index() + 1), o);
  }

  // The header goes between the identifier and the rest, so the root offset grows by its length.
  Result<Pieces> assemble() {
    const size_t flat_size = b_.GetSize();
    if (flat_size + kHeaderLength >= flat::kMaxFlatbuffer)
      return fail(Code::kInternal, "program flatbuffer of {} bytes", flat_size);
    const uint64_t program_size = flat_size + kHeaderLength;
    const uint64_t base = align_up(program_size, kSegmentAlignment);
    std::vector<std::byte> head(program_size);
    const uint8_t* flat = b_.GetBufferPointer();
    std::memcpy(head.data() + 8 + kHeaderLength, flat + 8, flat_size - 8);
    const auto put = [&](size_t at, auto v) { std::memcpy(head.data() + at, &v, sizeof v); };
    put(0, flat::u32_at(std::as_bytes(std::span(flat, 8)), 0) + kHeaderLength);
    std::memcpy(head.data() + 4, flat + 4, 4);
    std::memcpy(head.data() + 8, "eh00", 4);
    put(12, kHeaderLength);
    put(16, program_size);
    put(24, base);
    put(32, data_.size());
    Pieces out;
    out.own(std::move(head));
    out.pad_to(kSegmentAlignment);
    out.take(std::move(data_));
    return out;
  }

  const Program& p_;
  Blobs blobs_;
  flatbuffers::FlatBufferBuilder b_;
  Pieces data_;
  std::vector<std::pair<uint64_t, uint64_t>> extents_;  // offset and size of each segment
  std::vector<uint64_t> constant_offsets_, mutable_offsets_;
  uint32_t mutable_segment_ = 0, first_payload_ = 0, first_named_ = 0;
};

}  // namespace

Result<Pieces> build(const Program& program, Blobs blobs) { return Builder(program, std::move(blobs)).run(); }

}  // namespace edgewright::pte
