// Modules by their text, and the kernels in them.
#include "ptx_code.h"

ptx::Library& ptx::library() {
  static Library all;
  return all;
}

std::shared_ptr<PtxModule> ptx_load(const std::string& text, std::string* why) {
  ptx::Library& all = ptx::library();
  std::lock_guard<std::mutex> guard(all.lock);
  auto& module = all.modules[text];
  if (module) return module;
  auto fresh = std::make_shared<PtxModule>();
  try {
    ptx::parse(text, *fresh);
  } catch (const ptx::Refusal& r) {
    *why = "PTX " + r.what;
    return nullptr;
  }
  return module = fresh;
}

const PtxKernel* ptx_find(const PtxModule& module, const char* name) {
  auto it = module.kernels.find(name);
  return it == module.kernels.end() ? nullptr : it->second.get();
}

const EmuKernel* ptx_shape(const PtxKernel* kernel) { return &kernel->shape; }
