#include "runtime/program.h"

#include <pthreadpool.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/checked.h"
#include "format/pte.h"
#include "runtime/backend.h"
#include "runtime/kernel.h"
#include "runtime/strided.h"

namespace edgewright::runtime {
namespace {

// Kernels of XNNPACK may read this far past a tensor.
constexpr uint64_t kSlack = 128;
constexpr uint64_t kAlignment = 64;

struct Free {
  void operator()(std::byte* p) const { std::free(p); }
};

// Zeroed memory with slack behind it. Pages that are never touched cost nothing.
class Buffer {
 public:
  static Result<Buffer> make(uint64_t bytes) {
    Buffer b;
    b.size_ = bytes;
    const auto total = checked_add(static_cast<int64_t>(bytes), static_cast<int64_t>(kSlack + kAlignment));
    if (bytes > INT64_MAX || !total) return fail(Code::kMalformed, "a buffer of {} bytes", bytes);
    b.memory_.reset(static_cast<std::byte*>(std::calloc(1, static_cast<size_t>(*total))));
    if (!b.memory_) return fail(Code::kUnsupported, "no memory for a buffer of {} bytes", bytes);
    const auto address = reinterpret_cast<uintptr_t>(b.memory_.get());
    b.data_ = b.memory_.get() + (kAlignment - address % kAlignment) % kAlignment;
    return b;
  }
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte, Free> memory_;
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

struct Step {
  enum class Kind : uint8_t { kKernel, kDelegate, kMove, kJumpFalse, kNothing } kind = Kind::kNothing;
  const Kernel* kernel = nullptr;
  Delegate* delegate = nullptr;
  uint32_t first_arg = 0, num_args = 0;  // of kernels and delegates
  uint32_t from = 0, to = 0;             // move: values; jump: `from` is the condition, `to` the step
};

// What one step took since load.
struct StepProfile {
  double ms = 0;
  std::vector<std::pair<std::string, double>> operators;  // of a delegate
};

std::string kernel_name(const pte::Operator& op) { return op.overload.empty() ? op.name : op.name + "." + op.overload; }

class ProgramImpl;

class MethodImpl final : public Method {
 public:
  MethodImpl(std::shared_ptr<ProgramImpl> program, const pte::Plan& plan) : program_(std::move(program)), plan_(plan) {}
  ~MethodImpl() override {
    for (Tensor& t : tensors_)
      if (t.dynamism == Dynamism::kUnbound && t.writable) std::free(t.data);
  }

  Result<void> init();

  size_t num_inputs() const override { return plan_.inputs.size(); }
  size_t num_outputs() const override { return plan_.outputs.size(); }
  ValueInfo input_info(size_t i) const override { return info(plan_.inputs[i]); }
  ValueInfo output_info(size_t i) const override { return info(plan_.outputs[i]); }
  const std::string& encoded_inputs() const override { return plan_.container_inputs; }
  const std::string& encoded_outputs() const override { return plan_.container_outputs; }
  Result<void> set_input(size_t i, DType dtype, std::span<const int64_t> sizes, Bytes data) override;
  Result<void> set_input_int(size_t i, int64_t v) override;
  Result<void> set_input_bool(size_t i, bool v) override;
  Result<void> set_input_double(size_t i, double v) override;
  Result<void> execute() override;
  const EValue& output(size_t i) const override { return values_[static_cast<size_t>(plan_.outputs[i])]; }
  HostTensor output_tensor(size_t i) const override;
  void reset_state() override;
  std::vector<StepTime> profile() const override;
  uint64_t arena_bytes() const override {
    uint64_t n = 0;
    for (const auto& b : arenas_) n += b->size();
    return n;
  }

 private:
  Result<void> init_memory();
  Result<void> init_values();
  Result<void> init_tensor(const pte::Tensor& from, Tensor& t);
  Result<void> init_steps();
  // Of tensors in these arenas.
  void load_initial_data(const std::vector<bool>& arenas);
  ValueInfo info(int32_t value) const;
  Result<EValue*> scalar_input(size_t i, Tag tag);
  Result<void> run_profiled(const Step& s, StepProfile& into);
  Result<void> run(const Step& s);

  std::shared_ptr<ProgramImpl> program_;
  const pte::Plan& plan_;
  std::vector<std::shared_ptr<Buffer>> arenas_;  // by memory id; [0] unused; some are the program's
  std::vector<bool> fresh_;                      // those that this method was the first to make
  std::vector<Buffer> extras_;                   // tensors without a place in the plan, misaligned constants
  std::vector<Tensor> tensors_;
  std::vector<EValue> values_;
  std::vector<EValue> initial_;        // values_ as they are when a call begins
  std::vector<uint32_t> moved_;        // values that a move overwrites
  std::vector<bool> read_;             // values that some instruction reads
  std::vector<EValue*> items_, args_;  // storage of lists and of calls' arguments
  std::vector<double> doubles_;
  std::unique_ptr<bool[]> bools_;
  std::vector<std::unique_ptr<Delegate>> delegates_;
  std::vector<Step> steps_;
  std::vector<StepProfile> profile_;  // by step; empty unless wanted
  Scratch scratch_;
};

class ProgramImpl final : public Program, public NamedDataSource {
 public:
  ~ProgramImpl() override {
    backends_.clear();
    if (pool_) pthreadpool_destroy(pool_);
  }

  Result<void> init(Bytes file, std::shared_ptr<const void> owner, LoadOptions options) {
    file_ = file;
    owner_ = std::move(owner);
    options_ = options;
    EW_ASSIGN(program_, pte::parse(file));
    if (options.threads < 0 || options.threads > 1024) return fail(Code::kUsage, "{} threads", options.threads);
    if (options.threads != 1) {
      pool_ = pthreadpool_create(static_cast<size_t>(options.threads));
      if (!pool_) return fail(Code::kInternal, "cannot make a pool of {} threads", options.threads);
    }
    return {};
  }

  std::vector<std::string> method_names() const override {
    std::vector<std::string> names;
    for (const pte::Plan& p : program_.plans) names.push_back(p.name);
    return names;
  }

  Result<std::unique_ptr<Method>> method(const std::string& name) override {
    for (const pte::Plan& p : program_.plans) {
      if (p.name != name) continue;
      auto m = std::make_unique<MethodImpl>(std::static_pointer_cast<ProgramImpl>(shared_from_this()), p);
      if (auto r = m->init(); !r) return with_note(std::move(r.error()), "method '" + name + "'");
      return m;
    }
    return fail(Code::kUsage, "the program has no method '{}', but {}", name, fmt::join(method_names(), ", "));
  }

  const Bytes* find(std::string_view key) const override { return program_.find_named(key); }
  const pte::Program& program() const { return program_; }
  Bytes file() const { return file_; }
  pthreadpool* pool() const { return pool_; }
  uint64_t max_instructions() const { return options_.max_instructions; }

  bool is_shared(size_t arena) const { return shared_.contains(arena); }
  // An arena that holds nothing but named state, in the same places in every method that has it, belongs to the program: methods see
  // each other's writes. (Stock's exporter plans shared buffers so, and its Module can share arenas.) `fresh` says whether it was made now.
  Result<std::shared_ptr<Buffer>> arena(size_t id, int64_t bytes, bool& fresh) {
    fresh = true;
    const auto make = [&]() -> Result<std::shared_ptr<Buffer>> {
      EW_ASSIGN(Buffer b, Buffer::make(static_cast<uint64_t>(bytes)));
      return std::make_shared<Buffer>(std::move(b));
    };
    if (id < 2 || program_.plans.size() < 2 || !holds_shared_state(id, bytes)) return make();
    auto& kept = shared_[id];
    fresh = !kept;
    if (!kept) {
      EW_ASSIGN(kept, make());
    }
    return kept;
  }
  bool profiles() const { return options_.profile; }

  Result<BackendState*> backend(const std::string& id) {
    if (const auto it = backends_.find(id); it != backends_.end()) return it->second.get();
    EW_ASSIGN(auto state, make_backend(id, pool_, file_, options_.profile));
    return backends_.emplace(id, std::move(state)).first->second.get();
  }

 private:
  bool holds_shared_state(size_t id, int64_t bytes) const {
    std::map<uint64_t, std::pair<std::string, uint64_t>> at;  // offset -> name, size
    for (const pte::Plan& p : program_.plans) {
      if (id < p.buffer_sizes.size() && p.buffer_sizes[id] != bytes) return false;
      for (const pte::Value& v : p.values) {
        const auto* t = std::get_if<pte::Tensor>(&v);
        if (!t || !t->allocation || t->allocation->memory_id != id) continue;
        if (t->name.empty()) return false;
        const std::pair mine(t->name, pte::byte_size(*t));
        if (at.try_emplace(t->allocation->offset, mine).first->second != mine) return false;
      }
    }
    return true;
  }

  Bytes file_;
  std::shared_ptr<const void> owner_;
  LoadOptions options_;
  pte::Program program_;
  std::map<size_t, std::shared_ptr<Buffer>> shared_;  // by memory id
  pthreadpool* pool_ = nullptr;
  std::map<std::string, std::unique_ptr<BackendState>> backends_;
};

Result<void> MethodImpl::init() {
  EW_TRY(init_memory());
  EW_TRY(init_values());
  load_initial_data(fresh_);
  EW_TRY(init_steps());
  initial_ = values_;
  return {};
}

Result<void> MethodImpl::init_memory() {
  for (size_t i = 0; i < plan_.buffer_sizes.size(); ++i) {
    bool fresh = false;
    EW_ASSIGN(auto b, program_->arena(i, i == 0 ? 0 : plan_.buffer_sizes[i], fresh));
    arenas_.push_back(std::move(b));
    fresh_.push_back(fresh);
  }
  return {};
}

Result<void> MethodImpl::init_tensor(const pte::Tensor& from, Tensor& t) {
  if (from.external) return fail(Code::kUnsupported, "tensor '{}' has its data in another file", from.name);
  t.dtype = from.dtype;
  t.rank = static_cast<uint8_t>(from.sizes.size());
  t.dynamism = static_cast<Dynamism>(from.dynamism);
  std::copy(from.sizes.begin(), from.sizes.end(), t.sizes.begin());
  std::copy(from.dim_order.begin(), from.dim_order.end(), t.order.begin());
  t.capacity = pte::byte_size(from);
  t.writable = true;
  if (from.allocation) {
    t.data = arenas_[from.allocation->memory_id]->data() + from.allocation->offset;
  } else if (from.buffer > 0) {
    const Bytes data = pte::initial_data(program_->program(), from);
    t.data = const_cast<std::byte*>(data.data());  // never written: writable is false
    t.writable = false;
    t.dynamism = Dynamism::kStatic;
  } else if (t.dynamism == Dynamism::kUnbound) {
    if (t.numel() != 0) std::fill(t.sizes.begin(), t.sizes.end(), 0);  // the example's sizes
    t.data = static_cast<std::byte*>(std::calloc(1, kAlignment + kSlack));
    t.capacity = kAlignment;
    if (!t.data) return fail(Code::kUnsupported, "out of memory");
  } else {
    EW_ASSIGN(Buffer b, Buffer::make(t.capacity));
    t.data = b.data();
    extras_.push_back(std::move(b));
  }
  const Bytes file = program_->file();
  const bool at_end = !t.writable && t.data + t.capacity + kSlack > file.data() + file.size();
  if (at_end || reinterpret_cast<uintptr_t>(t.data) % size_of(t.dtype) != 0) {
    if (t.writable) return fail(Code::kMalformed, "planned at an offset that its element type does not allow");
    EW_ASSIGN(Buffer b, Buffer::make(t.capacity));
    if (t.capacity > 0) std::memcpy(b.data(), t.data, t.capacity);
    t.data = b.data();
    extras_.push_back(std::move(b));
  }
  t.set_strides();
  return {};
}

Result<void> MethodImpl::init_values() {
  size_t tensors = 0, items = 0, doubles = 0, bools = 0;
  for (const pte::Value& v : plan_.values) {
    tensors += std::holds_alternative<pte::Tensor>(v);
    if (const auto* l = std::get_if<pte::IntList>(&v)) items += l->items.size();
    if (const auto* l = std::get_if<pte::TensorList>(&v)) items += l->items.size();
    if (const auto* l = std::get_if<pte::OptionalTensorList>(&v)) items += l->items.size();
    if (const auto* l = std::get_if<pte::DoubleList>(&v)) doubles += l->items.size();
    if (const auto* l = std::get_if<pte::BoolList>(&v)) bools += l->items.size();
  }
  // Sized once: values hold pointers into these.
  tensors_.reserve(tensors);
  items_.reserve(items);
  doubles_.reserve(doubles);
  bools_.reset(new bool[bools + 1]);
  values_.resize(plan_.values.size() + 1);  // the last stays none: absent elements of lists
  bools = 0;
  const auto list = [&](EValue& e, Tag tag, const auto& from) {
    e.tag = tag;
    e.size = static_cast<uint32_t>(from.size());
    e.items = items_.data() + items_.size();
    for (auto i : from) items_.push_back(i < 0 ? &values_.back() : &values_[static_cast<size_t>(i)]);
  };
  for (size_t i = 0; i < plan_.values.size(); ++i) {
    const pte::Value& v = plan_.values[i];
    EValue& e = values_[i];
    if (const auto* n = std::get_if<int64_t>(&v)) {
      e.tag = Tag::kInt;
      e.i = *n;
    } else if (const auto* b = std::get_if<bool>(&v)) {
      e.tag = Tag::kBool;
      e.b = *b;
    } else if (const auto* d = std::get_if<double>(&v)) {
      e.tag = Tag::kDouble;
      e.d = *d;
    } else if (const auto* t = std::get_if<pte::Tensor>(&v)) {
      e.tag = Tag::kTensor;
      e.tensor = &tensors_.emplace_back();
      if (auto r = init_tensor(*t, *e.tensor); !r) return with_note(std::move(r.error()), fmt::format("value {}", i));
    } else if (const auto* s = std::get_if<std::string>(&v)) {
      e.tag = Tag::kString;
      e.text = s->data();
      e.size = static_cast<uint32_t>(s->size());
    } else if (const auto* l = std::get_if<pte::IntList>(&v)) {
      list(e, Tag::kIntList, l->items);
    } else if (const auto* l = std::get_if<pte::TensorList>(&v)) {
      list(e, Tag::kTensorList, l->items);
    } else if (const auto* l = std::get_if<pte::OptionalTensorList>(&v)) {
      list(e, Tag::kTensorList, l->items);
    } else if (const auto* l = std::get_if<pte::DoubleList>(&v)) {
      e.tag = Tag::kDoubleList;
      e.size = static_cast<uint32_t>(l->items.size());
      e.doubles = doubles_.data() + doubles_.size();
      doubles_.insert(doubles_.end(), l->items.begin(), l->items.end());
    } else if (const auto* l = std::get_if<pte::BoolList>(&v)) {
      e.tag = Tag::kBoolList;
      e.size = static_cast<uint32_t>(l->items.size());
      e.bools = bools_.get() + bools;
      for (bool b : l->items) bools_[bools++] = b;
    }
  }
  return {};
}

Result<void> MethodImpl::init_steps() {
  std::vector<const Kernel*> kernels;
  for (const pte::Operator& op : plan_.operators) kernels.push_back(find_kernel(kernel_name(op)));
  std::vector<Delegate*> delegates;
  for (const pte::Delegate& d : plan_.delegates) {
    EW_ASSIGN(BackendState * backend, program_->backend(d.id));
    auto loaded = backend->load(program_->program().payloads[d.payload], *program_);
    if (!loaded) return with_note(std::move(loaded.error()), fmt::format("delegate {}", delegates.size()));
    delegates.push_back(loaded->get());
    delegates_.push_back(std::move(*loaded));
  }

  size_t args = 0, count = 0;
  for (const pte::Chain& c : plan_.chains) {
    count += c.instructions.size();
    for (const pte::Instruction& i : c.instructions) {
      if (const auto* k = std::get_if<pte::KernelCall>(&i)) args += k->args.size();
      if (const auto* d = std::get_if<pte::DelegateCall>(&i)) args += d->args.size();
    }
  }
  args_.reserve(args);
  steps_.reserve(count);
  read_.assign(values_.size(), false);
  const auto take = [&](Step& s, const std::vector<int32_t>& from) {
    s.first_arg = static_cast<uint32_t>(args_.size());
    s.num_args = static_cast<uint32_t>(from.size());
    for (int32_t i : from) {
      EValue& v = values_[static_cast<size_t>(i)];
      args_.push_back(&v);
      read_[static_cast<size_t>(i)] = true;
      if (v.tag == Tag::kIntList)
        for (uint32_t k = 0; k < v.size; ++k) read_[static_cast<size_t>(v.items[k] - values_.data())] = true;
    }
  };
  for (const pte::Chain& c : plan_.chains) {
    const auto base = static_cast<uint32_t>(steps_.size());
    for (const pte::Instruction& inst : c.instructions) {
      Step s;
      if (const auto* k = std::get_if<pte::KernelCall>(&inst)) {
        s.kind = Step::Kind::kKernel;
        s.kernel = kernels[static_cast<size_t>(k->op)];
        if (!s.kernel)
          return fail(Code::kUnsupported, "no kernel for operator '{}'",
                      kernel_name(plan_.operators[static_cast<size_t>(k->op)]));
        take(s, k->args);
        if (s.kernel->scratch) {
          Call call(s.kernel->name, {args_.data() + s.first_arg, s.num_args}, scratch_, program_->pool());
          const uint64_t bytes = s.kernel->scratch(call);
          EW_TRY(call.ok());
          if (!scratch_.get(bytes)) return fail(Code::kUnsupported, "no memory for {} bytes of scratch", bytes);
        }
      } else if (const auto* d = std::get_if<pte::DelegateCall>(&inst)) {
        s.kind = Step::Kind::kDelegate;
        s.delegate = delegates[static_cast<size_t>(d->delegate)];
        take(s, d->args);
        if (auto r = s.delegate->prepare({args_.data() + s.first_arg, s.num_args}); !r)
          return with_note(std::move(r.error()), fmt::format("delegate {}", d->delegate));
      } else if (const auto* m = std::get_if<pte::MoveCall>(&inst)) {
        s.kind = Step::Kind::kMove;
        s.from = static_cast<uint32_t>(m->from);
        s.to = static_cast<uint32_t>(m->to);
        read_[s.from] = true;
        moved_.push_back(s.to);
      } else if (const auto* j = std::get_if<pte::JumpFalseCall>(&inst)) {
        s.kind = Step::Kind::kJumpFalse;
        s.from = static_cast<uint32_t>(j->cond);
        s.to = base + static_cast<uint32_t>(j->target);
        read_[s.from] = true;
      }
      steps_.push_back(s);
    }
  }
  if (program_->profiles()) profile_.resize(steps_.size());
  return {};
}

void MethodImpl::load_initial_data(const std::vector<bool>& arenas) {
  // A shared arena may hold state that other methods alone have.
  for (const pte::Plan& plan : program_->program().plans) {
    for (const pte::Value& v : plan.values) {
      const auto* t = std::get_if<pte::Tensor>(&v);
      if (!t || !t->allocation) continue;
      const uint32_t id = t->allocation->memory_id;
      if (id >= arenas.size() || !arenas[id] || (&plan != &plan_ && !program_->is_shared(id))) continue;
      const Bytes data = pte::initial_data(program_->program(), *t);
      if (!data.empty()) std::memcpy(arenas_[id]->data() + t->allocation->offset, data.data(), data.size());
    }
  }
}

void MethodImpl::reset_state() {
  for (const auto& b : arenas_) std::memset(b->data(), 0, b->size());
  load_initial_data(std::vector<bool>(arenas_.size(), true));
}

ValueInfo MethodImpl::info(int32_t value) const {
  ValueInfo out;
  out.tag = initial_[static_cast<size_t>(value)].tag;
  if (const auto* t = std::get_if<pte::Tensor>(&plan_.values[static_cast<size_t>(value)])) {
    out.dtype = t->dtype;
    out.sizes.assign(t->sizes.begin(), t->sizes.end());
    out.dim_order = t->dim_order;
    out.dynamic = t->dynamism != pte::Dynamism::kStatic;
    out.unbounded = t->dynamism == pte::Dynamism::kUnbound;
  }
  return out;
}

Result<void> MethodImpl::set_input(size_t i, DType dtype, std::span<const int64_t> sizes, Bytes data) {
  if (i >= plan_.inputs.size()) return fail(Code::kUsage, "input {}: the program has {}", i, plan_.inputs.size());
  const EValue& v = initial_[static_cast<size_t>(plan_.inputs[i])];
  if (v.tag != Tag::kTensor) return fail(Code::kUsage, "input {} is no tensor", i);
  Tensor& t = *v.tensor;
  if (!t.writable) return fail(Code::kMalformed, "input {} is a constant of the file", i);
  if (dtype != t.dtype)
    return fail(Code::kUsage, "input {} is {}, the program wants {}", i, name(dtype), name(t.dtype));
  if (sizes.size() != t.rank)
    return fail(Code::kUsage, "input {} has {} dimensions, the program wants {}", i, sizes.size(), t.rank);
  const auto& declared = std::get<pte::Tensor>(plan_.values[static_cast<size_t>(plan_.inputs[i])]).sizes;
  for (size_t d = 0; d < sizes.size(); ++d) {
    const bool fits = t.dynamism == Dynamism::kStatic
                          ? sizes[d] == declared[d]
                          : sizes[d] >= 0 && (t.dynamism == Dynamism::kUnbound || sizes[d] <= declared[d]);
    if (!fits)
      return fail(Code::kUsage, "input {}: dimension {} is {}, the program wants {}{}", i, d, sizes[d],
                  t.dynamism == Dynamism::kStatic ? "" : "at most ", declared[d]);
  }
  const char* why;
  if (!resize_tensor(t, sizes, &why)) return fail(Code::kUsage, "input {}: {}", i, why);
  if (data.size() != t.bytes())
    return fail(Code::kUsage, "input {}: {} bytes of data for {}", i, data.size(), t.bytes());
  if (t.contiguous()) {
    if (!data.empty()) std::memcpy(t.data, data.data(), data.size());
    return {};
  }
  std::array<int64_t, kMaxRank> dense{};
  int64_t step = 1;
  for (size_t d = t.rank; d-- > 0; step *= sizes[d]) dense[d] = step;
  copy_strided(t.data, t.strides.data(), data.data(), dense.data(), sizes, size_of(dtype));
  return {};
}

Result<EValue*> MethodImpl::scalar_input(size_t i, Tag tag) {
  if (i >= plan_.inputs.size()) return fail(Code::kUsage, "input {}: the program has {}", i, plan_.inputs.size());
  EValue& v = initial_[static_cast<size_t>(plan_.inputs[i])];
  if (v.tag != tag) return fail(Code::kUsage, "input {} is of another kind", i);
  return &v;
}

Result<void> MethodImpl::set_input_int(size_t i, int64_t n) {
  EW_ASSIGN(EValue * v, scalar_input(i, Tag::kInt));
  if (v->i != n && !read_[static_cast<size_t>(plan_.inputs[i])])
    return fail(Code::kUsage, "input {} was fixed to {} when the program was exported", i, v->i);
  v->i = n;
  return {};
}

Result<void> MethodImpl::set_input_bool(size_t i, bool b) {
  EW_ASSIGN(EValue * v, scalar_input(i, Tag::kBool));
  if (v->b != b && !read_[static_cast<size_t>(plan_.inputs[i])])
    return fail(Code::kUsage, "input {} was fixed to {} when the program was exported", i, v->b);
  v->b = b;
  return {};
}

Result<void> MethodImpl::set_input_double(size_t i, double d) {
  EW_ASSIGN(EValue * v, scalar_input(i, Tag::kDouble));
  if (v->d != d && !read_[static_cast<size_t>(plan_.inputs[i])])
    return fail(Code::kUsage, "input {} was fixed to {} when the program was exported", i, v->d);
  v->d = d;
  return {};
}

// A kernel's or a delegate's step.
Result<void> MethodImpl::run(const Step& s) {
  if (s.kind == Step::Kind::kDelegate) return s.delegate->run({args_.data() + s.first_arg, s.num_args});
  Call call(s.kernel->name, {args_.data() + s.first_arg, s.num_args}, scratch_, program_->pool());
  return s.kernel->run(call);
}

Result<void> MethodImpl::run_profiled(const Step& s, StepProfile& into) {
  const auto start = std::chrono::steady_clock::now();
  EW_TRY(run(s));
  into.ms += std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (!s.delegate) return {};
  auto last = s.delegate->profile();
  for (size_t i = 0; i < std::min(last.size(), into.operators.size()); ++i) last[i].second += into.operators[i].second;
  into.operators = std::move(last);
  return {};
}

std::vector<StepTime> MethodImpl::profile() const {
  std::vector<StepTime> out;
  for (size_t i = 0; i < profile_.size(); ++i) {
    const Step& s = steps_[i];
    if (s.kind == Step::Kind::kKernel) out.push_back({std::string(s.kernel->name), -1, profile_[i].ms});
    if (s.kind != Step::Kind::kDelegate) continue;
    const auto at =
        std::find_if(delegates_.begin(), delegates_.end(), [&](const auto& d) { return d.get() == s.delegate; });
    const auto number = static_cast<int>(at - delegates_.begin());
    double rest = profile_[i].ms;
    for (const auto& [name, ms] : profile_[i].operators) {
      out.push_back({name, number, ms});
      rest -= ms;
    }
    out.push_back({"delegate", number, std::max(rest, 0.0)});
  }
  return out;
}

Result<void> MethodImpl::execute() {
  for (uint32_t i : moved_) values_[i] = initial_[i];
  for (int32_t i : plan_.inputs) values_[static_cast<size_t>(i)] = initial_[static_cast<size_t>(i)];
  uint64_t left = program_->max_instructions();
  for (size_t at = 0; at < steps_.size(); ++at) {
    if (left-- == 0) return fail(Code::kMalformed, "stopped after {} instructions", program_->max_instructions());
    const Step& s = steps_[at];
    switch (s.kind) {
      case Step::Kind::kKernel:
      case Step::Kind::kDelegate:
        if (auto r = profile_.empty() ? run(s) : run_profiled(s, profile_[at]); !r)
          return with_note(std::move(r.error()), fmt::format("instruction {}", at));
        break;
      case Step::Kind::kMove: values_[s.to] = values_[s.from]; break;
      case Step::Kind::kJumpFalse: {
        const EValue& c = values_[s.from];
        bool go = false;
        if (c.tag == Tag::kBool)
          go = c.b;
        else if (c.tag == Tag::kTensor && c.tensor->dtype == DType::b8 && c.tensor->numel() == 1)
          go = *c.tensor->as<uint8_t>() != 0;
        else
          return fail(Code::kMalformed, "instruction {}: the condition of a jump is no bool", at);
        if (!go) at = s.to - size_t{1};
        break;
      }
      case Step::Kind::kNothing: break;
    }
  }
  return {};
}

HostTensor MethodImpl::output_tensor(size_t i) const {
  const EValue& v = output(i);
  const auto scalar = [](DType dtype, const auto& value) {
    const Bytes b = std::as_bytes(std::span(&value, 1));
    return HostTensor::owned(dtype, {}, {b.begin(), b.end()});
  };
  switch (v.tag) {
    case Tag::kInt: return scalar(DType::i64, v.i);
    case Tag::kBool: return scalar(DType::b8, v.b);
    case Tag::kDouble: return scalar(DType::f64, v.d);
    case Tag::kTensor: break;
    default: return HostTensor::owned(DType::u8, {0}, {});
  }
  const Tensor& t = *v.tensor;
  std::vector<std::byte> data(t.bytes());
  std::vector<int64_t> dense(t.rank);
  int64_t step = 1;
  for (size_t d = t.rank; d-- > 0; step *= t.sizes[d]) dense[d] = step;
  copy_strided(data.data(), dense.data(), t.data, t.strides.data(), t.shape(), size_of(t.dtype));
  return HostTensor::owned(t.dtype, {t.shape().begin(), t.shape().end()}, std::move(data));
}

}  // namespace

Result<std::shared_ptr<Program>> Program::load(Bytes file, std::shared_ptr<const void> owner, LoadOptions options) {
  auto p = std::make_shared<ProgramImpl>();
  EW_TRY(p->init(file, std::move(owner), options));
  return std::shared_ptr<Program>(std::move(p));
}

Result<std::shared_ptr<Program>> Program::load(const std::string& path, LoadOptions options) {
  EW_ASSIGN(auto file, MappedFile::open(path));
  auto p = load(file->bytes(), file, options);
  if (!p) return with_note(std::move(p.error()), path);
  return p;
}

}  // namespace edgewright::runtime
