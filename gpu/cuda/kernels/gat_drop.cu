// gat.cu with dropout of attention: kernels NAME_drop.
#define CAPGNN_DROP
#include "gat.cu"
