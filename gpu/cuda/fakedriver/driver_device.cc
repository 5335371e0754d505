// Devices, contexts, modules and launches.
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

#include "driver.h"

thread_local Context* current = nullptr;
static thread_local std::vector<Context*> below;  // of the stack whose top is current

static double at(const std::vector<double>& v, int i) { return v[std::min<size_t>(i, v.size() - 1)]; }

static void* reserve(size_t span, int access) {
  void* base = mmap(nullptr, span, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) return base;
  perror("fake driver: reserve address space");
  abort();
}

// open_devices reserves address space for the configured devices. G.lock is held.
void open_devices() {
  for (auto& d : G.devices) {
    munmap((void*)d.lo, d.hi - d.lo);
    if (d.written) munmap(d.written, d.hi - d.lo);
  }
  G.devices.assign(G.config.devices, Device{});
  for (int i = 0; i < G.config.devices; i++) {
    Device& d = G.devices[i];
    d.total = (size_t)(at(G.config.mebibytes, i) * 1048576.0);
    size_t span = std::max<size_t>(d.total * 16, size_t{4} << 30);
    void* base = reserve(span, PROT_NONE);
    if (!G.sources) d.written = (unsigned char*)reserve(span, PROT_READ | PROT_WRITE);
    d.next = d.lo = (CUdeviceptr)base;
    d.hi = d.lo + span;
  }
  G.operations = G.streams_made = G.blocks_made = 0;
  G.waits = G.syncs = G.launches = 0;
  G.trouble.clear();
  emu_set_memory(look_up);
}

static bool known(CUdevice d) { return d >= 0 && d < (int)G.devices.size(); }

// reaches reports whether device from can map the memory of device to.
bool reaches(int from, int to) { return from != to && !G.config.peers.empty() && G.config.peers[from][to] == '1'; }

// stream_of finds the stream of a handle in the current context.
int stream_of(CUstream h, Stream** out) {
  Context* c = current;
  if (!c) return CUDA_ERROR_INVALID_CONTEXT;
  if (c->sticky) return c->sticky;
  if (!h) {
    if (!c->plain) c->plain = make_stream(c);
    *out = c->plain;
    return CUDA_SUCCESS;
  }
  *out = (Stream*)h;
  return c->streams.count(*out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;  // a stream of another context
}

API CUresult cuInit(unsigned flags) {
  Lock l(G.lock);
  if (flags) return CUDA_ERROR_INVALID_VALUE;
  if (G.initialised) return CUDA_SUCCESS;
  const char* text = getenv("FAKECUDA");
  if (!parse(text ? text : "", &G.config)) {
    fprintf(stderr, "fake driver: FAKECUDA=%s is not a configuration\n", text);
    abort();
  }
  const char* kernels = getenv("FAKECUDA_KERNELS");
  G.sources = kernels && (!strcmp(kernels, "sources") || !strcmp(kernels, "contracted"));  // which of them: see build.sh
  if (kernels && !G.sources && strcmp(kernels, "ptx")) {
    fprintf(stderr, "fake driver: FAKECUDA_KERNELS=%s is none of ptx, sources and contracted\n", kernels);
    abort();
  }
  if (!G.config.devices) return CUDA_ERROR_NO_DEVICE;
  open_devices();
  G.initialised = true;
  return CUDA_SUCCESS;
}

API CUresult cuDriverGetVersion(int* v) { return *v = 13000, CUDA_SUCCESS; }

API CUresult cuDeviceGetCount(int* n) {
  Lock l(G.lock);
  if (!G.initialised) return CUDA_ERROR_NOT_INITIALIZED;
  *n = (int)G.devices.size();
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGet(CUdevice* d, int i) {
  Lock l(G.lock);
  if (!known(i)) return CUDA_ERROR_INVALID_DEVICE;
  *d = i;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetName(char* name, int n, CUdevice d) {
  Lock l(G.lock);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  snprintf(name, n, "Fake GPU sm_%d", (int)at(G.config.capability, d));
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetUuid(CUuuid* u, CUdevice d) {
  Lock l(G.lock);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  memset(u->bytes, 0, sizeof u->bytes);
  memcpy(u->bytes, "fake", 4);
  u->bytes[15] = (char)d;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceTotalMem(size_t* n, CUdevice d) {
  Lock l(G.lock);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  *n = G.devices[d].total;
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetPCIBusId(char* id, int n, CUdevice d) {
  snprintf(id, n, "0000:%02x:00.0", d + 1);
  return CUDA_SUCCESS;
}

API CUresult cuDeviceGetAttribute(int* v, CUdevice_attribute a, CUdevice d) {
  Lock l(G.lock);
  if (!known(d)) return CUDA_ERROR_INVALID_DEVICE;
  int cc = (int)at(G.config.capability, d);
  switch (a) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = cc / 10; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *v = cc % 10; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = 80; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *v = 4 << 20; break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *v = 1024; break;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: *v = d + 1; break;
    default: *v = 0;
  }
  return CUDA_SUCCESS;
}

API CUresult cuDeviceCanAccessPeer(int* can, CUdevice a, CUdevice b) {
  Lock l(G.lock);
  if (!known(a) || !known(b)) return CUDA_ERROR_INVALID_DEVICE;
  *can = reaches(a, b);
  return CUDA_SUCCESS;
}

API CUresult cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice dev) {
  Lock l(G.lock);
  if (!known(dev)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& p = G.primaries[dev];
  if (!p.context) p.context = new Context{dev};
  p.references++;
  G.contexts++;
  *c = (CUcontext)p.context;
  return CUDA_SUCCESS;
}

// end_context ends a context with all that was made in it. G.lock is held.
void end_context(Lock& l, Primary& p) {
  Context* c = p.context;
  end_streams(l, {c->streams.begin(), c->streams.end()});
  if (known(c->device)) {
    Device& d = G.devices[c->device];
    for (auto& b : d.blocks) munmap(b.second.base, b.second.span);
    d.blocks.clear();
    d.used = 0;
  }
  for (auto it = G.pinned.begin(); it != G.pinned.end();) it = it->second.context == c ? G.pinned.erase(it) : std::next(it);
  p.context = nullptr;
  delete c;
}

// The context goes with its last user, unless it is to outlive that.
API CUresult cuDevicePrimaryCtxRelease(CUdevice dev) {
  Lock l(G.lock);
  if (dev < 0 || dev >= MOST_DEVICES || !G.primaries[dev].references) return CUDA_ERROR_INVALID_CONTEXT;
  Primary& p = G.primaries[dev];
  if (--p.references || G.config.outlive) return CUDA_SUCCESS;
  end_context(l, p);
  current = nullptr;
  return CUDA_SUCCESS;
}

// cuCtxSynchronize waits for all streams, and says what has ended the context.
API CUresult cuCtxSynchronize(void) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  for (Stream* s : std::vector<Stream*>(current->streams.begin(), current->streams.end())) drain(l, s);
  return (CUresult)current->sticky;
}

API CUresult cuCtxSetCurrent(CUcontext c) {
  current = (Context*)c;
  return CUDA_SUCCESS;
}

API CUresult cuCtxPushCurrent(CUcontext c) {
  if (!c) return CUDA_ERROR_INVALID_CONTEXT;
  below.push_back(current);
  current = (Context*)c;
  return CUDA_SUCCESS;
}

API CUresult cuCtxPopCurrent(CUcontext* c) {
  if (below.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *c = (CUcontext)current;
  current = below.back();
  below.pop_back();
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetCurrent(CUcontext* c) {
  *c = (CUcontext)current;
  return CUDA_SUCCESS;
}

API CUresult cuCtxGetDevice(CUdevice* d) {
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  *d = current->device;
  return CUDA_SUCCESS;
}

API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  Lock l(G.lock);
  if (!current || !peer) return CUDA_ERROR_INVALID_CONTEXT;
  int to = ((Context*)peer)->device;
  if (!reaches(current->device, to)) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return current->peers.insert(to).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

API CUresult cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned n, CUjit_option* options, void** values) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->sticky) return (CUresult)current->sticky;
  auto module = std::make_unique<Module>(Module{current, (const char*)image, nullptr});
  std::string why;
  if (module->image.find(".version") == std::string::npos) why = "the fake driver takes PTX";  // fatbins are not taken here
  else if (!G.sources) module->ptx = ptx_load(module->image, &why);
  if (why.empty()) {
    G.modules++;
    *m = (CUmodule)module.release();
    return CUDA_SUCCESS;
  }
  unsigned long room = 0;
  for (unsigned i = 0; i < n; i++)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) room = (unsigned long)values[i];
  for (unsigned i = 0; i < n && room; i++)
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) snprintf((char*)values[i], room, "%s", why.c_str());
  return CUDA_ERROR_INVALID_IMAGE;
}

API CUresult cuModuleUnload(CUmodule m) {
  delete (Module*)m;
  return CUDA_SUCCESS;
}

API CUresult cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  Lock l(G.lock);
  auto* module = (Module*)m;
  const PtxKernel* ptx = module->ptx ? ptx_find(*module->ptx, name) : nullptr;
  const EmuKernel* k = ptx ? ptx_shape(ptx) : module->ptx ? nullptr : emu_find(name);
  if (!k || module->image.find(std::string(".entry ") + name + "(") == std::string::npos) return CUDA_ERROR_NOT_FOUND;
  *f = (CUfunction) new Function{module, k, ptx};
  return CUDA_SUCCESS;
}

API CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
  if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_NOT_SUPPORTED;
  if (v > 96 << 10) return CUDA_ERROR_INVALID_VALUE;  // as sm_70 allows
  ((Function*)f)->shared = (unsigned)v;
  return CUDA_SUCCESS;
}

// Launch holds a kernel's arguments from the call to the run.
struct Launch {
  const EmuKernel* kernel;
  const PtxKernel* ptx;
  emu_dim3 grid, block;
  unsigned shared;
  std::vector<uint64_t> words;
  std::vector<void*> params;

  Launch(const Function& f, emu_dim3 g, emu_dim3 b, unsigned s, void** given)
      : kernel(f.kernel), ptx(f.ptx), grid(g), block(b), shared(s), words(2 * kernel->count), params(kernel->count) {
    for (int i = 0; i < kernel->count; i++) {
      if (kernel->sizes[i] > 16) abort();
      memcpy(&words[2 * i], given[i], kernel->sizes[i]);
      params[i] = &words[2 * i];
    }
  }
};

// run_launch runs a kernel; what it does wrong ends its context.
static double run_launch(Context* c, Launch& l) {
  running_device = c->device;
  auto* params = l.params.data();
  const char* wrong = l.ptx ? ptx_run_grid(l.ptx, l.grid, l.block, l.shared, params) : emu_run_grid(l.kernel, l.grid, l.block, l.shared, params);
  if (wrong) {
    Lock lock(G.lock);
    bool address = strstr(wrong, " at 0x") || strstr(wrong, "address 0x");
    fail(c, address ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED, wrong);
  }
  return 5 + 1e-3 * l.grid.x * l.grid.y * l.grid.z * l.block.x * l.block.y * l.block.z;
}

API CUresult cuLaunchKernel(CUfunction h, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params, void** extra) {
  Lock l(G.lock);
  Stream* s;
  if (int r = stream_of(stream, &s)) return (CUresult)r;
  auto* f = (Function*)h;
  if (!f || f->module->context != current) return CUDA_ERROR_INVALID_HANDLE;
  if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bx * by * bz > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (shared > f->shared) return CUDA_ERROR_INVALID_VALUE;
  if (extra) return CUDA_ERROR_NOT_SUPPORTED;
  G.launches++;
  auto launch = std::make_shared<Launch>(*f, emu_dim3{gx, gy, gz}, emu_dim3{bx, by, bz}, shared, params);
  push(s, [c = current, launch] { return run_launch(c, *launch); });
  return CUDA_SUCCESS;
}

API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn f, void* data) {
  Lock l(G.lock);
  Stream* s;
  if (int r = stream_of(stream, &s)) return (CUresult)r;
  push(s, [=] { return f(data), 1.0; });
  return CUDA_SUCCESS;
}

API CUresult cuGetErrorName(CUresult code, const char** name) {
  static thread_local char text[32];
  snprintf(text, sizeof text, "CUDA_ERROR_%d", code);
  *name = text;
  return CUDA_SUCCESS;
}

// cuGetErrorString says of a context's end what the kernel did wrong.
API CUresult cuGetErrorString(CUresult code, const char** said) {
  static thread_local std::string text;
  Lock l(G.lock);
  switch (code) {
    case CUDA_ERROR_INVALID_VALUE: text = "invalid argument"; break;
    case CUDA_ERROR_OUT_OF_MEMORY: text = "out of memory"; break;
    case CUDA_ERROR_NO_DEVICE: text = "no CUDA-capable device is detected"; break;
    case CUDA_ERROR_NOT_FOUND: text = "named symbol not found"; break;
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED: text = G.trouble; break;
    default: text = "an error of the fake driver";
  }
  *said = text.c_str();
  return CUDA_SUCCESS;
}
