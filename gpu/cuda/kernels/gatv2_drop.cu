// gatv2.cu with dropout of attention: kernels NAME_drop.
#define CAPGNN_DROP
#include "gatv2.cu"
