// c = a + b. `vadd.co` is this file, compiled by stock clang 14 for gfx803 with -O2.

__kernel void vadd(__global const float *a, __global const float *b, __global float *c, uint n) {
  uint i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}

__kernel void vadd_i(__global const int *a, __global const int *b, __global int *c) {
  uint i = get_global_id(0);
  c[i] = a[i] + b[i];
}
