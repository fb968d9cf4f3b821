// src/session/model.cc - Model: a program loaded in the runtime, compiled first where it is a .pt2.
#include <algorithm>
#include <chrono>

#include "format/pte.h"
#include "runtime/program.h"
#include "session/convert.h"
#include "session/loaded.h"

namespace edgewright::session {
namespace {

class LoadedModel final : public Loaded {
 public:
  // Loads `file`, which `owner` keeps alive.
  Result<void> load(Bytes file, std::shared_ptr<const void> owner, const std::string& method,
                    runtime::LoadOptions options) {
    const auto start = std::chrono::steady_clock::now();
    EW_ASSIGN(program_, runtime::Program::load(file, std::move(owner), options));
    EW_TRY(take(method));
    load_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return {};
  }
  // A method of a program that another model has loaded.
  Result<void> join(const LoadedModel& other, const std::string& method) {
    program_ = other.program_;
    return take(method);
  }
  Result<void> take(const std::string& method) {
    std::string wanted = method;
    if (wanted.empty()) {
      const auto names = program_->method_names();
      if (names.empty()) return fail(Code::kMalformed, "the file holds no method");
      wanted = names.front();
    }
    EW_ASSIGN(method_, program_->method(wanted));
    return {};
  }

  const Signature& signature() const override { return signature_; }
  std::optional<std::vector<Value>> sample_inputs() const override { return samples_; }
  const driver::CompileReport* report() const override { return report_ ? &*report_ : nullptr; }
  double load_ms() const override { return load_ms_; }
  uint64_t arena_bytes() const override { return method_->arena_bytes(); }
  void reset_state() override { method_->reset_state(); }
  std::vector<runtime::StepTime> profile() const override { return method_->profile(); }

  Result<void> run_unchecked(const std::vector<Value>& inputs) override {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (signature_.inputs[i].fixed) continue;  // the file holds the same
      const Result<void> set = set_input(i, inputs[i]);
      if (!set) return with_note(set.error(), fmt::format("input {}", i));
    }
    auto done = method_->execute();
    // In a file that we have just written, what the runtime finds malformed is no fault of the user's.
    if (!done && report_ && done.error().code == Code::kMalformed) done.error().code = Code::kInternal;
    return done;
  }

  Result<std::vector<Value>> run_all(const std::vector<Value>& inputs) override {
    EW_TRY(check(signature_, inputs));
    EW_TRY(run_unchecked(inputs));
    std::vector<Value> all;
    for (size_t i = 0; i < method_->num_outputs(); ++i) all.push_back(output(i));
    return all;
  }
  Result<std::vector<Value>> run(const std::vector<Value>& inputs) override {
    EW_ASSIGN(auto all, run_all(inputs));
    all.resize(std::min(all.size(), signature_.outputs.size()));
    return all;
  }

  // What load() cannot tell from the runtime.
  Signature signature_;
  std::optional<std::vector<Value>> samples_;
  std::optional<driver::CompileReport> report_;

  // The compiled file takes and returns what the program does, leaf by leaf.
  Result<void> expect_same_leaves() const {
    const size_t extra = report_ ? report_->exposed.size() : 0;
    if (method_->num_inputs() == signature_.inputs.size() &&
        method_->num_outputs() == signature_.outputs.size() + extra)
      return {};
    return fail(Code::kInternal, "the compiled file has {} inputs and {} outputs, the program {} and {}",
                method_->num_inputs(), method_->num_outputs(), signature_.inputs.size(),
                signature_.outputs.size() + extra);
  }

 private:
  Result<void> set_input(size_t i, const Value& v) {
    if (const HostTensor* t = tensor_of(v)) return method_->set_input(i, *t);
    const runtime::Tag tag = method_->input_info(i).tag;
    if (const auto* n = std::get_if<int64_t>(&v))
      return tag == runtime::Tag::kDouble ? method_->set_input_double(i, static_cast<double>(*n))
                                          : method_->set_input_int(i, *n);
    if (const auto* f = std::get_if<double>(&v)) return method_->set_input_double(i, *f);
    if (const auto* b = std::get_if<bool>(&v)) return method_->set_input_bool(i, *b);
    return {};
  }
  Value output(size_t i) const {
    const runtime::EValue& v = method_->output(i);
    switch (v.tag) {
      case runtime::Tag::kTensor: return method_->output_tensor(i);
      case runtime::Tag::kInt: return v.i;
      case runtime::Tag::kBool: return v.b;
      case runtime::Tag::kDouble: return v.d;
      case runtime::Tag::kString: return std::string(v.text, v.size);
      default: return std::monostate();
    }
  }

  std::shared_ptr<runtime::Program> program_;
  std::unique_ptr<runtime::Method> method_;
  double load_ms_ = 0;
};

runtime::LoadOptions load_options(const Options& o) { return {.threads = o.threads, .profile = o.profile}; }

Result<std::unique_ptr<Loaded>> load_pte(const std::shared_ptr<const MappedFile>& file, const Options& options) {
  auto model = std::make_unique<LoadedModel>();
  EW_TRY(model->load(file->bytes(), file, options.method, load_options(options)));
  EW_ASSIGN(const pte::Program program, pte::parse(file->bytes()));
  for (const pte::Plan& plan : program.plans)
    if (plan.name == options.method || options.method.empty()) {
      model->signature_ = signature_of(plan);
      break;
    }
  return model;
}

}  // namespace

Result<std::unique_ptr<Loaded>> compile_and_load(ir::Program program, const driver::CompileOptions& compile,
                                                 const runtime::LoadOptions& options) {
  auto model = std::make_unique<LoadedModel>();
  model->signature_ = signature_of(program);
  if (program.sample_inputs) model->samples_ = to_values(*program.sample_inputs);
  const std::string method = program.method;
  std::vector<ir::Program> programs;
  programs.push_back(std::move(program));
  EW_ASSIGN(driver::Compiled compiled, driver::compile(programs, compile));
  programs.clear();  // the weights are in the file now
  model->report_ = std::move(compiled.report);
  const auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(compiled.bytes));
  Result<void> loaded = model->load(Bytes(*bytes), bytes, method, options);
  if (loaded) loaded = model->expect_same_leaves();
  if (!loaded) {
    Error e = std::move(loaded.error());
    // A file that we have just written: that the runtime refuses it is no fault of the user's.
    if (e.code != Code::kUnsupported) e.code = Code::kInternal;
    return with_note(std::move(e), "loading the compiled program");
  }
  return model;
}

Result<std::unique_ptr<Loaded>> load(const std::string& path, const Options& options) {
  if (!is_text(path)) {
    EW_ASSIGN(const auto file, MappedFile::open(path));
    EW_ASSIGN(const FileKind kind, kind_of_file(*file));
    if (kind == FileKind::kPte) {
      if (options.compile && options.compile->prepare)
        return fail(Code::kUsage, "{}: it is compiled already, only a .pt2 can be quantized", path);
      auto model = load_pte(file, options);
      return model ? std::move(model) : with_note(std::move(model.error()), path);
    }
  }
  EW_ASSIGN(const Source source, open_pt2(path, options.model));
  EW_ASSIGN(const ir::Program* program, find_method(source, options.method));
  auto model = compile_and_load(clone(*program), options.compile ? *options.compile : driver::CompileOptions(),
                                load_options(options));
  return model ? std::move(model) : with_note(std::move(model.error()), path);
}

Result<std::vector<std::unique_ptr<Loaded>>> load_methods(const std::string& path, const Options& options,
                                                          const std::vector<std::string>& methods) {
  EW_ASSIGN(const auto file, MappedFile::open(path));
  EW_ASSIGN(const FileKind kind, kind_of_file(*file));
  if (kind != FileKind::kPte)
    return fail(Code::kUsage, "{}: several methods are run from a .pte: compile it first", path);
  EW_ASSIGN(const pte::Program program, pte::parse(file->bytes()));
  std::vector<std::unique_ptr<Loaded>> all;
  const LoadedModel* first = nullptr;
  for (const std::string& name : methods) {
    if (std::any_of(all.begin(), all.end(), [&](const auto& m) { return m->signature().method == name; })) continue;
    auto model = std::make_unique<LoadedModel>();
    const Result<void> loaded =
        first ? model->join(*first, name) : model->load(file->bytes(), file, name, load_options(options));
    if (!loaded) return with_note(loaded.error(), path);
    for (const pte::Plan& plan : program.plans)
      if (plan.name == name) model->signature_ = signature_of(plan);
    if (!first) first = model.get();
    all.push_back(std::move(model));
  }
  return all;
}

Result<std::unique_ptr<Model>> Model::load(const std::string& path, const Options& options) {
  EW_ASSIGN(auto model, session::load(path, options));
  return model;
}

}  // namespace edgewright::session
