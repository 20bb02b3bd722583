/* Jump tables, structures, short vectors, LDS of the caller's size, atomics of every width. */
typedef struct { int a[6]; float4 v; char c; } record;
__attribute__((noinline)) int chosen(int x, int y) {
  switch (x) {
  case 0: return y + 1;
  case 1: return y * 3;
  case 2: return y ^ 0x55;
  case 3: return y - 7;
  case 4: return y << 2;
  case 5: return ~y;
  case 6: return y * y;
  case 7: return y >> 3;
  case 8: return y & 255;
  case 9: return y | 4096;
  case 10: return y % 97;
  default: return 0;
  }
}
__kernel void jump_table(__global int *x, __global const int *which) {
  uint i = get_global_id(0);
  int v = x[i];
  for (int k = 0; k < 5; k++) v = chosen((which[i] + k) % 12, v);
  x[i] = v;
}
__kernel void structures(record s, __global const record *p, __global float *out) {
  uint i = get_global_id(0);
  record t = p[i];
  t.a[i % 6] += s.a[(i + 1) % 6];
  float4 q = t.v.wzyx * s.v + (float4)(1, 2, 3, 4);
  out[i] = q.x + q.y * q.z - q.w + t.a[i % 6] + t.c;
}
__kernel void short_vectors(__global const uchar4 *a, __global const short2 *b, __global int4 *out) {
  uint i = get_global_id(0);
  uchar4 u = a[i];
  short2 s = b[i];
  out[i] = (int4)(u.x + s.x, u.y * s.y, u.z << 8 | u.w, s.x * s.y);
}
__kernel void bins(__global const uint *in, __global uint *out, __local uint *part, uint n, uint count) {
  uint t = get_local_id(0);
  for (uint k = t; k < count; k += get_local_size(0)) part[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint i = get_global_id(0); i < n; i += get_global_size(0))
    __opencl_atomic_fetch_add((__local atomic_uint *)&part[in[i] % count], 1u, __ATOMIC_RELAXED,
                              __OPENCL_MEMORY_SCOPE_WORK_GROUP);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = t; k < count; k += get_local_size(0))
    if (part[k])
      __opencl_atomic_fetch_add((__global atomic_uint *)&out[k], part[k], __ATOMIC_RELAXED,
                                __OPENCL_MEMORY_SCOPE_DEVICE);
}
__kernel void large_private(__global int *out, int n) {
  int a[200];
  uint i = get_global_id(0);
  for (int k = 0; k < 200; k++) a[k] = k * i;
  for (int k = 0; k < n; k++) {
    int j = (a[(k * 37 + i) % 200] + k) % 200;
    a[j < 0 ? j + 200 : j] ^= k + i;
  }
  int s = 0;
  for (int k = 0; k < 200; k++) s = s * 31 + a[k];
  out[i] = s;
}
#define GLOBAL(name, place)                                                                      \
  __opencl_atomic_fetch_##name(&p[place], x[i], __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE)
__kernel void wide_atomics(__global atomic_long *p, __global const long *x) {
  uint i = get_global_id(0);
  GLOBAL(max, 0);
  GLOBAL(min, 1);
  GLOBAL(xor, 2);
  GLOBAL(sub, 3);
}
#define LOCAL(name, place, value)                                                                \
  __opencl_atomic_fetch_##name(place, value, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
#define LOAD(place) \
  __opencl_atomic_load(place, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_WORK_GROUP)
__kernel void lds_atomics(__global int *out) {
  __local atomic_int word[4];
  __local atomic_long wide;
  uint t = get_local_id(0);
  if (t < 4) __opencl_atomic_init(&word[t], t == 1 ? 1000 : 0);
  if (t == 0) __opencl_atomic_init(&wide, 0);
  barrier(CLK_LOCAL_MEM_FENCE);
  LOCAL(add, &word[0], (int)t);
  LOCAL(min, &word[1], (int)t - 20);
  LOCAL(or, &word[2], 1 << (t & 31));
  int e = 0;
  do
    e = LOAD(&word[3]);
  while (!__opencl_atomic_compare_exchange_strong(&word[3], &e, e + 2, __ATOMIC_RELAXED,
                                                  __ATOMIC_RELAXED,
                                                  __OPENCL_MEMORY_SCOPE_WORK_GROUP));
  LOCAL(add, &wide, (long)t << 33);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (t < 4) out[get_group_id(0) * 6 + t] = LOAD(&word[t]);
  if (t == 0) {
    out[get_group_id(0) * 6 + 4] = (int)(LOAD(&wide) >> 32);
    out[get_group_id(0) * 6 + 5] = (int)LOAD(&wide);
  }
}
