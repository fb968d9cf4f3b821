// run_pt2 MODEL.pt2 [INPUTS.safetensors]: loads what torch.export.save wrote and runs it, without Python or libtorch.
// Without inputs, the sample inputs inside the file are used.
#include <fmt/format.h>

#include "session/calls.h"
#include "session/session.h"

using namespace edgewright;

int main(int argc, char** argv) {
  if (argc < 2) return fmt::print(stderr, "usage: run_pt2 MODEL.pt2 [INPUTS.safetensors]\n"), 2;
  const auto report = [](const Error& e) { return fmt::print(stderr, "error: {}\n", e.str()), exit_status(e.code); };

  auto model = session::Model::load(argv[1]);
  if (!model) return report(model.error());

  session::CallFiles files;
  if (argc > 2) files.inputs = {{argv[2]}};
  const auto calls = session::gather((*model)->signature(), files, (*model)->sample_inputs());
  if (!calls) return report(calls.error());

  // Inputs may as well be made here: (*model)->run({session::f32({1, 3}, {1, 2, 3})})
  const auto outputs = (*model)->run(calls->front().inputs);
  if (!outputs) return report(outputs.error());
  for (const session::Value& v : *outputs) fmt::print("{}\n", session::describe(v));
  return 0;
}
