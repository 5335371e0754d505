// Runs kernels by a script on standard input, without a driver:
//
//   buffer NAME BYTES          a block of device memory, filled with 0
//   ints NAME FIRST STEP       fills it with the int32 FIRST, FIRST + STEP, …
//   longs NAME FIRST STEP      likewise with int64
//   floats NAME VALUE          fills it with a float32
//   launch KERNEL GX GY BLOCK SHARED ARGUMENT…
//
// An argument is @NAME (the buffer's address), an integer, or a float with a point in it. Prints what the emulator says of the
// first launch that goes wrong, or "ok".
#include "emu_run.h"

#include <cstdio>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Buffer {
  char* at;
  size_t size;
};
std::map<std::string, Buffer> buffers;
std::vector<char> arena(1 << 24);
size_t used = 256;

EmuMemory look_up(uintptr_t address) {
  uintptr_t lo = reinterpret_cast<uintptr_t>(arena.data());
  if (address - lo >= arena.size()) return {EmuMemory::HOST, 0, 0, ""};
  for (const auto& [name, b] : buffers) {
    uintptr_t from = reinterpret_cast<uintptr_t>(b.at);
    if (address - from < b.size) return {EmuMemory::LIVE, from, from + b.size, ""};
  }
  EmuMemory m = {EmuMemory::DEAD, 0, 0, ""};
  snprintf(m.what, sizeof m.what, "no live block is there");
  return m;
}

template <class T> void fill(const std::string& name, T first, T step) {
  const Buffer& b = buffers.at(name);
  for (size_t i = 0; i < b.size / sizeof(T); i++) reinterpret_cast<T*>(b.at)[i] = first + T(i) * step;
}

uint64_t argument(const std::string& text) {
  uint64_t word = 0;
  if (text[0] == '@') return reinterpret_cast<uint64_t>(buffers.at(text.substr(1)).at);
  if (text.find('.') == std::string::npos) return std::stoll(text);
  float f = std::stof(text);
  memcpy(&word, &f, 4);
  return word;
}

const char* launch(std::istringstream& in) {
  std::string name, text;
  unsigned gx, gy, block, shared;
  in >> name >> gx >> gy >> block >> shared;
  std::vector<uint64_t> words;
  while (in >> text) words.push_back(argument(text));
  const EmuKernel* k = emu_find(name.c_str());
  if (!k) return "no such kernel";
  if (int(words.size()) != k->count) return "wrong number of arguments";
  std::vector<void*> params;
  for (uint64_t& w : words) params.push_back(&w);
  return emu_run_grid(k, {gx, gy, 1}, {block, 1, 1}, shared, params.data());
}

}  // namespace

int main() {
  emu_set_memory(look_up);
  std::string line, word, name;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    if (!(in >> word)) continue;
    if (word == "launch") {
      if (const char* wrong = launch(in)) {
        std::cout << wrong << "\n";
        return 0;
      }
      continue;
    }
    double a = 0, b = 0;
    in >> name >> a >> b;
    if (word == "buffer") {
      buffers[name] = {arena.data() + used, size_t(a)};
      used += (size_t(a) + 511) / 256 * 256;
    } else if (word == "ints") {
      fill<int32_t>(name, a, b);
    } else if (word == "longs") {
      fill<int64_t>(name, a, b);
    } else {
      fill<float>(name, a, 0);
    }
  }
  std::cout << "ok\n";
}
