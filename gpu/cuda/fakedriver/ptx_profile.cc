// What kernels have done, for coverage, and how they ask for memory.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "ptx_code.h"

void ptx::Counts::add(const Counts& o) {
  launches += o.launches, warp_instructions += o.warp_instructions, thread_instructions += o.thread_instructions;
  load_requests += o.load_requests, load_sectors += o.load_sectors, load_bytes += o.load_bytes;
  store_requests += o.store_requests, store_sectors += o.store_sectors, store_bytes += o.store_bytes;
  shared_requests += o.shared_requests, shared_waves += o.shared_waves;
}

static void write_kernel(FILE* f, const PtxKernel& k) {
  std::lock_guard<std::mutex> guard(k.lock);
  const ptx::Counts& c = k.counts;
  fprintf(f, "kernel %s launches %lu instructions %lu threads %lu loads %lu %lu %lu stores %lu %lu %lu shared %lu %lu code %zu\n", k.name.c_str(),
          c.launches, c.warp_instructions, c.thread_instructions, c.load_requests, c.load_sectors, c.load_bytes, c.store_requests, c.store_sectors,
          c.store_bytes, c.shared_requests, c.shared_waves, k.code.size());
  for (size_t n = 0; n < k.code.size(); n++)
    if (!k.runs[n]) fprintf(f, "unreached %s %u %s\n", k.name.c_str(), k.code[n].line, k.code[n].text.c_str());
}

void ptx_profile() {
  const char* folder = getenv("FAKECUDA_PROFILE");
  if (!folder) return;
  std::string path = std::string(folder) + "/" + std::to_string(getpid());
  FILE* f = fopen(path.c_str(), "w");
  if (!f) {
    perror(path.c_str());
    abort();
  }
  ptx::Library& all = ptx::library();
  std::lock_guard<std::mutex> guard(all.lock);
  for (auto& [text, module] : all.modules) {
    if (!module) continue;  // refused
    for (auto& [name, k] : module->kernels) write_kernel(f, *k);
  }
  fclose(f);
}
