// What the programs of this folder read of a script: buffers, and launches of kernels.
#pragma once
#include <cstdint>
#include <cstring>
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
size_t used = 256;  // bytes of the memory that buffers lie in

template <class T> void fill(const Buffer& b, T first, T step) {
  for (size_t i = 0; i < b.size / sizeof(T); i++) reinterpret_cast<T*>(b.at)[i] = first + T(i) * step;
}

void add_buffer(const std::string& name, char* memory, size_t bytes) {
  buffers[name] = {memory + used, bytes};
  used += (bytes + 511) / 256 * 256;
}

uint64_t argument(const std::string& text) {
  uint64_t word = 0;
  if (text[0] == '@') {
    size_t plus = text.find('+');
    return reinterpret_cast<uint64_t>(buffers.at(text.substr(1, plus - 1)).at) + (plus == std::string::npos ? 0 : std::stoll(text.substr(plus)));
  }
  if (text.find('.') == std::string::npos) return std::stoll(text);
  float f = std::stof(text);
  memcpy(&word, &f, 4);
  return word;
}

// A line "launch KERNEL GX GY BLOCK SHARED ARGUMENT…" behind its first word.
struct Launch {
  std::string kernel;
  unsigned gx, gy, block, shared;
  std::vector<uint64_t> words;
  std::vector<void*> params;  // point to words

  explicit Launch(std::istringstream& in) {
    std::string text;
    in >> kernel >> gx >> gy >> block >> shared;
    while (in >> text) words.push_back(argument(text));
    for (uint64_t& w : words) params.push_back(&w);
  }
};

}  // namespace
