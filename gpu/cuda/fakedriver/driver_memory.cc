// Memory of the devices, page-locked memory of the host, and copies.
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

#include "driver.h"

thread_local int running_device = -1;

static constexpr size_t PAGE = 4096, ALIGN = 256, GRAIN = 512;

static size_t up(size_t n, size_t to) { return (n + to - 1) / to * to; }

int device_of(CUdeviceptr p, size_t n) {
  for (size_t i = 0; i < G.devices.size(); i++) {
    const Device& d = G.devices[i];
    if (p < d.lo || p >= d.hi) continue;
    auto it = d.blocks.upper_bound(p);
    if (it == d.blocks.begin()) return NOWHERE;
    --it;
    return p + n <= it->first + it->second.size ? (int)i : NOWHERE;
  }
  return HOST;
}

unsigned char* written(uintptr_t p) {
  for (const Device& d : G.devices)
    if (d.written && p >= d.lo && p < d.hi) return d.written + (p - d.lo);
  return nullptr;
}

// describe says what lies at an address of a device that holds no live memory.
static void describe(const Device& d, int device, CUdeviceptr p, EmuMemory* m) {
  m->kind = EmuMemory::DEAD;
  auto freed = d.freed.upper_bound(p);
  if (freed != d.freed.begin() && p < (--freed)->first + freed->second.size) {
    snprintf(m->what, sizeof m->what, "block %u of device %d, %zu bytes, which was freed", freed->second.number, device, freed->second.size);
    return;
  }
  auto it = d.blocks.upper_bound(p);
  if (it != d.blocks.begin()) {
    --it;
    size_t past = p - it->first - it->second.size;
    if (past < (1u << 20)) {
      snprintf(m->what, sizeof m->what, "%zu bytes behind block %u of device %d, %zu bytes", past, it->second.number, device, it->second.size);
      return;
    }
    ++it;
  }
  if (it != d.blocks.end() && it->first - p < (1u << 20))
    snprintf(m->what, sizeof m->what, "%llu bytes before block %u of device %d, %zu bytes", it->first - p, it->second.number, device, it->second.size);
  else
    snprintf(m->what, sizeof m->what, "no block of device %d", device);
}

// look_up answers the emulator.
EmuMemory look_up(uintptr_t address) {
  Lock l(G.lock);
  EmuMemory m{EmuMemory::HOST, 0, 0, ""};
  for (size_t i = 0; i < G.devices.size(); i++) {
    const Device& d = G.devices[i];
    if (address < d.lo || address >= d.hi) continue;
    int own = running_device;
    if (own >= 0 && own != (int)i && !(G.primaries[i].context && G.primaries[own].context && G.primaries[own].context->peers.count((int)i))) {
      m.kind = EmuMemory::DEAD;
      snprintf(m.what, sizeof m.what, "memory of device %zu, to which device %d has no access", i, own);
      return m;
    }
    auto it = d.blocks.upper_bound(address);
    if (it != d.blocks.begin() && address < (--it)->first + it->second.size)
      return {EmuMemory::LIVE, (uintptr_t)it->first, (uintptr_t)(it->first + it->second.size), "", written(it->first)};
    describe(d, (int)i, address, &m);
    return m;
  }
  auto it = G.pinned.upper_bound(address);  // tables of constants are other memory of the host
  if (it != G.pinned.begin() && address < (--it)->first + it->second.size) {
    m.kind = EmuMemory::DEAD;
    snprintf(m.what, sizeof m.what, "page-locked memory of the host");
  }
  return m;
}

API CUresult cuMemGetInfo(size_t* free, size_t* total) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  Device& d = G.devices[current->device];
  *free = d.total - d.used;
  *total = d.total;
  return CUDA_SUCCESS;
}

// Memory is NaN until it is written. It ends right before a page that nobody may touch.
API CUresult cuMemAlloc(CUdeviceptr* p, size_t n) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->sticky) return (CUresult)current->sticky;
  if (!n) return CUDA_ERROR_INVALID_VALUE;
  Device& d = G.devices[current->device];
  if (n > d.total || d.used + up(n, GRAIN) > d.total) return CUDA_ERROR_OUT_OF_MEMORY;
  size_t span = up(up(n, ALIGN), PAGE);
  if (d.next + span + PAGE > d.hi) return CUDA_ERROR_OUT_OF_MEMORY;
  void* base = mmap((void*)d.next, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (base == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  *p = (CUdeviceptr)base + span - up(n, ALIGN);
  memset((void*)*p, 0xff, n);
  d.blocks[*p] = {n, span, base, ++G.blocks_made};
  d.used += up(n, GRAIN);
  d.next = (CUdeviceptr)base + span + PAGE;
  return CUDA_SUCCESS;
}

// As the real call, it waits for the device's work.
API CUresult cuMemFree(CUdeviceptr p) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  Device& d = G.devices[current->device];
  auto it = d.blocks.find(p);
  if (it == d.blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  for (Stream* s : std::vector<Stream*>(current->streams.begin(), current->streams.end())) drain(l, s);
  Block b = d.blocks[p];
  mmap(b.base, b.span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (unsigned char* w = written((uintptr_t)b.base)) madvise(w, b.span, MADV_DONTNEED);
  d.used -= up(b.size, GRAIN);
  d.freed[p] = b;
  d.blocks.erase(p);
  return (CUresult)current->sticky;
}

bool is_pinned(uintptr_t p, size_t n) {
  auto it = G.pinned.upper_bound(p);
  return it != G.pinned.begin() && p + n <= (--it)->first + it->second.size;
}

API CUresult cuMemHostRegister(void* p, size_t n, unsigned) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->sticky) return (CUresult)current->sticky;
  if (G.config.refuse_pinning) return CUDA_ERROR_OUT_OF_MEMORY;
  auto next = G.pinned.lower_bound((uintptr_t)p);
  bool within = next != G.pinned.end() && next->first < (uintptr_t)p + n;
  if (next != G.pinned.begin() && std::prev(next)->first + std::prev(next)->second.size > (uintptr_t)p) within = true;
  if (within) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
  G.pinned[(uintptr_t)p] = Pinned{n, current};
  return CUDA_SUCCESS;
}

API CUresult cuMemHostUnregister(void* p) {
  Lock l(G.lock);
  return G.pinned.erase((uintptr_t)p) ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}

// rate of a copy between devices, or a device and the host, in bytes per µs.
static double rate(int to, int from) {
  if (to == from) return 300e3;
  if (to == HOST || from == HOST) return 12e3;
  return reaches(to, from) ? 50e3 : 6e3;
}

// Rows is what a copy moves: rows of width bytes.
struct Rows {
  char *to, *from;
  size_t to_pitch, from_pitch, width, count;
};

static double move(const Rows& r, double bytes_per_us) {
  unsigned char *to = written((uintptr_t)r.to), *from = written((uintptr_t)r.from);
  for (size_t i = 0; i < r.count; i++) {
    memcpy(r.to + i * r.to_pitch, r.from + i * r.from_pitch, r.width);
    if (to && from) memcpy(to + i * r.to_pitch, from + i * r.from_pitch, r.width);
    else if (to) memset(to + i * r.to_pitch, 1, r.width);
  }
  return 4 + r.count * r.width / bytes_per_us;
}

// copy enqueues a copy between places that must be what the call says: a device, or HOST. Memory that is not page-locked is
// read, or written, before the call returns, as the real driver does.
static CUresult copy(const Rows& r, int to, int from, CUstream stream) {
  Lock l(G.lock);
  Stream* s;
  if (int code = stream_of(stream, &s)) return (CUresult)code;
  if (!r.width || !r.count) return CUDA_SUCCESS;
  size_t to_size = (r.count - 1) * r.to_pitch + r.width, from_size = (r.count - 1) * r.from_pitch + r.width;
  if (device_of((CUdeviceptr)r.to, to_size) != to || device_of((CUdeviceptr)r.from, from_size) != from) return CUDA_ERROR_INVALID_VALUE;
  bool pageable = (to == HOST && !is_pinned((uintptr_t)r.to, to_size)) || (from == HOST && !is_pinned((uintptr_t)r.from, from_size));
  double speed = rate(to, from);
  TicketPtr t = push(s, [r, speed] { return move(r, speed); });
  if (pageable) await(l, t);
  return CUDA_SUCCESS;
}

static int here() { return current ? current->device : NOWHERE; }

API CUresult cuMemcpyHtoDAsync(CUdeviceptr d, const void* h, size_t n, CUstream s) { return copy({(char*)d, (char*)h, n, n, n, 1}, here(), HOST, s); }
API CUresult cuMemcpyDtoHAsync(void* h, CUdeviceptr d, size_t n, CUstream s) { return copy({(char*)h, (char*)d, n, n, n, 1}, HOST, here(), s); }
API CUresult cuMemcpyDtoDAsync(CUdeviceptr d, CUdeviceptr f, size_t n, CUstream s) { return copy({(char*)d, (char*)f, n, n, n, 1}, here(), here(), s); }

API CUresult cuMemcpyPeerAsync(CUdeviceptr d, CUcontext dc, CUdeviceptr f, CUcontext fc, size_t n, CUstream s) {
  if (!dc || !fc) return CUDA_ERROR_INVALID_CONTEXT;
  return copy({(char*)d, (char*)f, n, n, n, 1}, ((Context*)dc)->device, ((Context*)fc)->device, s);
}

API CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* c, CUstream s) {
  if (!c->dstContext || !c->srcContext) return CUDA_ERROR_INVALID_CONTEXT;
  if (c->Depth != 1 || c->srcMemoryType != CU_MEMORYTYPE_DEVICE || c->dstMemoryType != CU_MEMORYTYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
  if (c->WidthInBytes > c->srcPitch || c->WidthInBytes > c->dstPitch) return CUDA_ERROR_INVALID_VALUE;
  return copy({(char*)c->dstDevice, (char*)c->srcDevice, c->dstPitch, c->srcPitch, c->WidthInBytes, c->Height},
              ((Context*)c->dstContext)->device, ((Context*)c->srcContext)->device, s);
}

API CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream stream) {
  Lock l(G.lock);
  Stream* s;
  if (int code = stream_of(stream, &s)) return (CUresult)code;
  if (device_of(d, n) != current->device) return CUDA_ERROR_INVALID_VALUE;
  push(s, [=] {
    if (unsigned char* w = written(d)) memset(w, 1, n);
    return memset((void*)d, v, n), 2 + n / 300e3;
  });
  return CUDA_SUCCESS;
}

// fakecuda_holds reports whether n bytes at p lie in one live block; for the fake cuBLAS.
API int fakecuda_holds(CUdeviceptr p, size_t n) {
  Lock l(G.lock);
  return device_of(p, n) >= 0;
}

// fakecuda_written says that n bytes at p have been written; for the fake cuBLAS.
API void fakecuda_written(CUdeviceptr p, size_t n) {
  if (unsigned char* w = written(p)) memset(w, 1, n);
}
