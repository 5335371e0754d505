// Loads and stores: bounds, alignment, what was never written, and who touched what.
//
// Two accesses of one place of which one writes are in order if one thread made both; within a block if a bar.sync lies
// between; within a warp if a bar.warp.sync of all its lanes does. Blocks of a grid are never in order, and shuffles order no
// memory. What is not in order is a race, whatever order the threads happened to run in.
#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "ptx_machine.h"

namespace ptx {

namespace {

constexpr u64 PAGE = 4096;
constexpr size_t MOST_PAGES = 4096;  // that keep their cells from grid to grid

// A cell's reader: the thread in 10 bits, the epoch of its warp, and whether there are others.
constexpr u32 THREAD = 1023, MANY = 1u << 31, ACROSS = 1u << 30, BLOCKS = 1u << 29, FLAGS = MANY | ACROSS | BLOCKS;

u64 extend(u64 raw, unsigned bytes, bool is_signed) {
  unsigned spare = 64 - 8 * bytes;
  return is_signed ? u64(s64(raw << spare) >> spare) : raw << spare >> spare;
}

}  // namespace

// Access is what a lane does to a place.
struct Access {
  Machine& m;
  unsigned lane;
  u32 thread, mark;  // mark: the thread and the epoch of its warp, as cells keep them
  const char* memory;
  u64 address;
  u32 since;

  Access(Machine& m, unsigned lane) : m(m), lane(lane), thread(m.thread(lane)), mark(thread | (m.warp->epoch << 10 & ~FLAGS)) {}

  // unordered reports whether nothing lies between this and an access in the same block at that time.
  bool unordered(u32 time, u32 who) const {
    if (time < m.block_start) return true;
    if (time != m.epoch || (who & THREAD) == thread) return false;
    return (who & THREAD) / LANES != thread / LANES || ((who ^ mark) & ~FLAGS & ~THREAD) == 0;
  }
  [[noreturn]] void race(const char* now, const char* before, u32 who, u32 time) const {
    m.find(lane, "%s of %s memory at %#llx that thread %u of %s block has %s, with no barrier between", now, memory,
           (unsigned long long)address, who & THREAD, time < m.block_start ? "another" : "its", before);
  }
  void read(Cell& c) const {
    if (c.write_time >= since && unordered(c.write_time, c.writer)) race("read", "written", c.writer, c.write_time);
    bool seen = c.read_time >= since, same = seen && c.read_time == m.epoch;
    bool blocks = seen && (c.reader & BLOCKS || c.read_time < m.block_start);
    bool warps = same && (c.reader & ACROSS || (c.reader & THREAD) / LANES != thread / LANES);
    bool many = same && ((c.reader ^ mark) & ~FLAGS & ~THREAD) == 0 && (c.reader & MANY || (c.reader & THREAD) != thread);
    c.read_time = m.epoch;
    c.reader = mark | (blocks ? BLOCKS : 0) | (warps ? ACROSS : 0) | (many ? MANY : 0);
  }
  void write(Cell& c) const {
    if (c.write_time >= since && unordered(c.write_time, c.writer)) race("write", "written", c.writer, c.write_time);
    if (c.read_time >= since) {
      bool others = c.read_time == m.epoch && (c.reader & ACROSS || (c.reader & MANY && ((c.reader ^ mark) & ~FLAGS & ~THREAD) == 0));
      if (others || c.reader & BLOCKS || unordered(c.read_time, c.reader)) race("write", "read", c.reader, c.reader & BLOCKS ? 0 : c.read_time);
    }
    c = {m.epoch, mark, 0, 0};
  }
  Cell* global_cells(u64 a) const { return m.page_of(a); }
};

u64 Machine::get(const Operand& o, unsigned lane) {
  switch (o.bytes) {
    case 1: return *at<u32>(o) >> lane & 1;
    case 2: return at<u16>(o)[lane];
    case 4: return at<u32>(o)[lane];
  }
  return at<u64>(o)[lane];
}

void Machine::put(const Operand& o, unsigned lane, u64 value) {
  switch (o.bytes) {
    case 2: at<u16>(o)[lane] = value; return;
    case 4: at<u32>(o)[lane] = value; return;
    case 8: at<u64>(o)[lane] = value; return;
  }
  find(lane, "a predicate as a number");
}

void Machine::find(unsigned lane, const char* format, ...) {
  char text[400], where[900];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  snprintf(where, sizeof where, "kernel %s, block (%u,%u,%u), thread (%u,0,0), lane %u: %s [PTX line %u: %.200s]", kernel->name.c_str(), block_index.x,
           block_index.y, block_index.z, thread(lane), lane, text, now ? now->line : 0, now ? now->text.c_str() : "");
  throw Finding{where};
}

void Machine::forget() {
  pages.clear();
  for (Recent& r : recent) r = {~u64(0), nullptr};
}

void Machine::begin_memory(size_t dynamic) {
  ranges.clear();
  last_range = 0;
  if (pages.size() > MOST_PAGES) forget();
  shared_bytes = (kernel->static_shared + 15) / 16 * 16 + dynamic;
  shared.resize(shared_bytes + 16);
  shared_written.resize(shared.size());
  shared_cells.resize(shared.size());
}

void Machine::begin_shared() { std::fill(shared_written.begin(), shared_written.end(), 0); }

Cell* Machine::page_of(u64 address) {
  u64 page = address / PAGE;
  Recent& r = recent[page % 64];
  if (r.page != page) {
    auto& cells = pages[page];
    if (!cells) cells.reset(new Cell[PAGE]());
    r = {page, cells.get()};
  }
  return r.cells;
}

namespace {

// Place is where a lane's access goes: the bytes, and whether each was written (nullptr: nobody knows).
struct Place {
  char* data;
  u8* written;
};

const EmuMemory& range_of(Machine& m, u64 address, unsigned bytes, bool write, unsigned lane) {
  for (size_t n = 0; n < m.ranges.size(); n++) {
    size_t at = m.last_range + n < m.ranges.size() ? m.last_range + n : m.last_range + n - m.ranges.size();
    if (address < m.ranges[at].lo || address + bytes > m.ranges[at].hi) continue;
    m.last_range = at;
    return m.ranges[at];
  }
  EmuMemory r = emu_ask(address);
  const char* verb = write ? "write" : "read";
  if (r.kind == EmuMemory::DEAD) m.find(lane, "%s of %u bytes at %#llx: %s", verb, bytes, (unsigned long long)address, r.what);
  if (r.kind == EmuMemory::HOST)
    m.find(lane, "%s of %u bytes at address %#llx, which is no memory of this device", verb, bytes, (unsigned long long)address);
  if (address + bytes > r.hi)
    m.find(lane, "%s of %u bytes at %#llx, which reach %zu bytes behind their block", verb, bytes, (unsigned long long)address, size_t(address + bytes - r.hi));
  m.last_range = m.ranges.size();
  m.ranges.push_back(r);
  return m.ranges.back();
}

template <bool WRITE> Place global_place(Machine& m, u64 address, unsigned bytes, unsigned lane) {
  const EmuMemory& r = range_of(m, address, bytes, WRITE, lane);
  Access access(m, lane);
  access.memory = "global", access.address = address, access.since = m.grid_start;
  const unsigned grain = m.kernel->grain;
  Cell* cells = access.global_cells(address);
  for (u64 c = address % PAGE >> grain, to = (address % PAGE + bytes - 1) >> grain; c <= to; c++)
    WRITE ? access.write(cells[c]) : access.read(cells[c]);
  return {reinterpret_cast<char*>(address), r.written ? r.written + (address - r.lo) : nullptr};
}

template <bool WRITE> Place shared_place(Machine& m, u64 address, unsigned bytes, unsigned lane) {
  if (address + bytes > m.shared_bytes)
    m.find(lane, "access to shared memory at byte %llu, %llu behind the %u that the block has", (unsigned long long)address,
           (unsigned long long)(address + bytes - m.shared_bytes), m.shared_bytes);
  Access access(m, lane);
  access.memory = "shared", access.address = address, access.since = m.block_start;
  const unsigned grain = m.kernel->grain;
  for (u64 c = address >> grain, to = (address + bytes - 1) >> grain; c <= to; c++)
    WRITE ? access.write(m.shared_cells[c]) : access.read(m.shared_cells[c]);
  return {m.shared.data() + address, m.shared_written.data() + address};
}

// count_global counts the sectors of a request.
void count_global(Machine& m, const u64* address, u32 lanes, unsigned bytes, bool write) {
  u64 sectors[2 * LANES];
  unsigned n = 0, threads = __builtin_popcount(lanes);
  for (; lanes; lanes &= lanes - 1) sectors[n++] = address[first(lanes)] / 32;  // an aligned access lies in one
  std::sort(sectors, sectors + n);
  n = std::unique(sectors, sectors + n) - sectors;
  Counts& c = m.counts;
  (write ? c.store_requests : c.load_requests)++;
  (write ? c.store_sectors : c.load_sectors) += n;
  (write ? c.store_bytes : c.load_bytes) += u64(bytes) * threads;
}

// count_shared counts waves: each serves 128 bytes at most, and of each of the 32 banks one word.
void count_shared(Machine& m, const u64* address, u32 lanes, unsigned bytes) {
  const unsigned group = std::min(LANES, 128 / bytes);
  for (unsigned from = 0; from < LANES; from += group) {
    u64 words[LANES];
    unsigned n = 0, of_bank[LANES] = {};
    for (unsigned l = from; l < from + group; l++)
      for (unsigned b = 0; (lanes >> l & 1) && b < bytes; b += 4) words[n++ % LANES] = (address[l] + b) / 4;
    n = std::min(n, LANES);
    std::sort(words, words + n);
    n = std::unique(words, words + n) - words;
    for (unsigned w = 0; w < n; w++) of_bank[words[w] % LANES]++;
    m.counts.shared_waves += *std::max_element(of_bank, of_bank + LANES);
  }
  m.counts.shared_requests++;
}

// Request is where the lanes of an access go.
struct Request {
  Place place[LANES];
  u64 address[LANES];
  u32 shared = 0;  // lanes whose address is of shared memory

  template <bool WRITE> void resolve(Machine& m, const Instruction& i, u32 lanes) {
    const Operand& o = i.from[i.sources - 1];
    const unsigned bytes = i.element * (WRITE ? i.sources - 1 : i.results);
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      unsigned l = first(rest);
      u64 a = o.bytes == 8 ? m.at<u64>(o)[l] + o.shift : u32(m.at<u32>(o)[l] + o.shift);
      if (a & (bytes - 1)) m.find(l, "a vector of %u bytes at %#llx is not aligned", bytes, (unsigned long long)a);
      bool is_shared = i.space == Space::SHARED;
      if (i.space == Space::GENERIC && a >= SHARED_WINDOW) a -= SHARED_WINDOW, is_shared = true;
      address[l] = a;
      shared |= u32(is_shared) << l;
      place[l] = is_shared ? shared_place<WRITE>(m, a, bytes, l) : global_place<WRITE>(m, a, bytes, l);
    }
    if (!m.counting) return;
    if (lanes & ~shared) count_global(m, address, lanes & ~shared, bytes, WRITE);
    if (lanes & shared) count_shared(m, address, lanes & shared, bytes);
  }
};

bool all_written(const u8* marks, unsigned bytes) {
  for (unsigned b = 0; b < bytes; b++)
    if (!marks[b]) return false;
  return true;
}

template <class T> void move_in(Machine& m, const Operand& to, const Place* place, unsigned offset, u32 lanes) {
  T* registers = m.at<T>(to);
  for (; lanes; lanes &= lanes - 1) memcpy(registers + first(lanes), place[first(lanes)].data + offset, sizeof(T));
}

}  // namespace

void load(Machine& m, const Instruction& i, u32 lanes) {
  Request r;
  r.resolve<false>(m, i, lanes);
  for (unsigned v = 0; v < i.results; v++) {
    const Operand& to = i.to[v];
    const unsigned offset = v * i.element;
    u32 missing = 0;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      const Place& p = r.place[first(rest)];
      if (p.written && !all_written(p.written + offset, i.element)) missing |= rest & -rest;
    }
    if (missing && v == 0)
      m.find(first(missing), "read of %s memory at %#llx that nobody has written", r.shared >> first(missing) & 1 ? "shared" : "global",
             (unsigned long long)r.address[first(missing)]);
    m.warp->unsound[to.reg] = (m.warp->unsound[to.reg] & ~lanes) | missing;
    m.warp->any_unsound |= missing != 0;
    if (to.bytes == i.element && i.element == 4) {
      move_in<u32>(m, to, r.place, offset, lanes);
    } else if (to.bytes == i.element && i.element == 8) {
      move_in<u64>(m, to, r.place, offset, lanes);
    } else {
      for (u32 rest = lanes; rest; rest &= rest - 1) {
        u64 raw = 0;
        memcpy(&raw, r.place[first(rest)].data + offset, i.element);
        m.put(to, first(rest), extend(raw, i.element, i.is_signed));
      }
    }
  }
}

void store(Machine& m, const Instruction& i, u32 lanes) {
  Request r;
  r.resolve<true>(m, i, lanes);
  for (unsigned v = 0; v + 1 < i.sources; v++) {
    const unsigned offset = v * i.element;
    for (u32 rest = lanes; rest; rest &= rest - 1) {
      const Place& p = r.place[first(rest)];
      u64 raw = m.get(i.from[v], first(rest));
      memcpy(p.data + offset, &raw, i.element);
      if (p.written) memset(p.written + offset, 1, i.element);
    }
  }
}

void load_parameter(Machine& m, const Instruction& i, u32 lanes) {
  u64 raw = 0;
  memcpy(&raw, m.parameters.data() + i.from[0].shift, i.element);
  raw = extend(raw, i.element, i.is_signed);
  m.warp->unsound[i.to[0].reg] &= ~lanes;
  for (; lanes; lanes &= lanes - 1) m.put(i.to[0], first(lanes), raw);
}

}  // namespace ptx
