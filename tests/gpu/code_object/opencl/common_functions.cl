/* One kernel for each kind of function in gpu/code_object/opencl/common_functions.h. */
__kernel void ints(__global const int *a, __global const int *b, __global int *o) {
  size_t i = get_global_id(0);
  int x = a[i], y = b[i];
  o += 11 * i;
  o[0] = min(x, y); o[1] = max(x, 5); o[2] = (int)abs(x); o[3] = rotate(x, 7); o[4] = popcount(y);
  o[5] = clz(x); o[6] = mul24(x, y); o[7] = mad24(x, y, 1); o[8] = mul_hi(x, y);
  o[9] = clamp(y, -9, 9); o[10] = (int)abs_diff(x, y);
}
__kernel void floats(__global const float *a, __global float *o, __global double *d) {
  size_t i = get_global_id(0);
  float x = a[i];
  o += 10 * i;
  o[0] = fmin(x, 1.f); o[1] = fmax(x, 2.f); o[2] = fabs(x); o[3] = floor(x); o[4] = sqrt(fabs(x));
  o[5] = mad(x, 2.f, 1.f); o[6] = clamp(x, -1.f, 1.f); o[7] = isnan(x) ? 1 : 0;
  o[8] = convert_float(convert_int(x)); o[9] = native_exp2(x * 0.01f);
  d[i] = floor(convert_double(x)) + trunc((double)x * 0.5);
}
__kernel void vectors(__global const float *a, __global float *o, __constant int *c,
                      __global int *p) {
  size_t i = get_global_id(0);
  float4 v = vload4(i, a);
  vstore4(v.wzyx * 2.0f, i, o);
  int2 t = vload2(i, c);
  p[i] = t.x - t.y;
}
__kernel void histogram(__global const uchar *a, __global uint *h, __local uint *t) {
  uint l = get_local_id(0);
  for (uint k = l; k < 256; k += get_local_size(0)) t[k] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  atomic_inc(&t[a[get_global_id(0)]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint k = l; k < 256; k += get_local_size(0)) if (t[k]) atomic_add(&h[k], t[k]);
}
__kernel void exchange(__global int *p) {
  int seen;
  do seen = p[0]; while (atomic_cmpxchg(p, seen, seen + 1) != seen);
  atomic_max(p + 1, (int)get_global_id(0));
}
__kernel void newer(__global atomic_int *p, __global atomic_uint *q, __global int *r) {
  int i = get_global_id(0), none = 3;
  atomic_fetch_add_explicit(p, i, memory_order_relaxed, memory_scope_device);
  atomic_fetch_or(q, 1u << (i & 31));
  if (i == 0) atomic_store_explicit(&p[1], 7, memory_order_release, memory_scope_device);
  r[i] = atomic_load(&q[1]) + (atomic_compare_exchange_strong(&p[2], &none, i) ? 1 : 0);
}
#define WIDTH(T)                                                                                   \
  __kernel void width_##T(__global const T *a, __global const T *b, __global T *o) {               \
    size_t i = get_global_id(0);                                                                   \
    T x = a[i], y = b[i];                                                                          \
    o += 8 * i;                                                                                    \
    o[0] = add_sat(x, y); o[1] = sub_sat(x, y); o[2] = mul_hi(x, y); o[3] = mad_hi(x, y, x);       \
    o[4] = hadd(x, y); o[5] = rhadd(x, y); o[6] = ctz(x); o[7] = clz(y);                           \
  }
WIDTH(char) WIDTH(uchar) WIDTH(short) WIDTH(ushort) WIDTH(int) WIDTH(uint) WIDTH(long) WIDTH(ulong)
__kernel void kinds(__global double *d, __global uchar *p, __global half *h, __global uint *o) {
  __local uint turned[64];
  uint i = get_global_id(0);
  d[i] = sqrt(d[i]);
  vstore3(vload3(i, p).zyx, i, p);
  vstore_half(vload_half(i, h) * 2, i, h);
  turned[63 - get_local_linear_id()] = get_global_linear_id();
  work_group_barrier(CLK_LOCAL_MEM_FENCE);
  o[i] = turned[get_local_id(0)];
  work_group_barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE, memory_scope_device);
  d[i] += o[i ^ 1];
}
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void halves(__global const half *a, __global const half *b, __global half *o, __global int *i) {
  size_t k = get_global_id(0);
  half x = a[k], y = b[k];
  __global half *r = o + 8 * k;
  r[0] = fma(x, y, x);
  r[1] = sqrt(fabs(x));
  r[2] = max(x, y);
  r[3] = convert_half(convert_float(x) * 3.0f);
  vstore2(fmin(vload2(0, a + 2 * (k / 2)), (half2)(y, x)), 2, r);
  r[6] = rsqrt(fabs(x));
  r[7] = select(floor(x), y, (ushort)(k & 1));
  i[2 * k] = convert_int(x) + 100 * isnan(y);
  i[2 * k + 1] = isless(x, y) + 2 * signbit(x);
}
__kernel void swapped(volatile __global float *p, volatile __global atomic_float *q, __global float *o) {
  __local float l;
  size_t k = get_global_id(0);
  if (get_local_id(0) == 0) l = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  o[4 * k] = atomic_xchg(p + k, 2.5f);
  o[4 * k + 1] = atomic_exchange(q + k, 3.5f);
  atomic_store(q + k, atomic_load(q + k) + 1);
  if (get_local_id(0) == 0) { o[4 * k + 2] = atomic_xchg(&l, 4.5f); o[4 * k + 3] = l; }
}
/* Work-items in groups of one take turns under three kinds of lock; what they guard is no atomic. */
__kernel void locked(volatile __global atomic_flag *flag, volatile __global atomic_int *word,
                     volatile __global ulong *wide, __global uint *counts) {
  while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire, memory_scope_device));
  counts[0] += 1;
  atomic_flag_clear_explicit(flag, memory_order_release, memory_scope_device);
  int free = 0;
  while (!atomic_compare_exchange_weak_explicit(word, &free, 1, memory_order_relaxed,
                                                memory_order_relaxed))
    free = 0;
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, memory_scope_device);
  counts[1] += 2;
  atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, memory_scope_device);
  atomic_store_explicit(word, 0, memory_order_relaxed);
  while (atom_cmpxchg(wide, 0ul, 1ul << 40));
  read_mem_fence(CLK_GLOBAL_MEM_FENCE);
  counts[2] += 3;
  write_mem_fence(CLK_GLOBAL_MEM_FENCE);
  atom_sub(wide, 1ul << 40);
  atom_max(wide + 1, (ulong)get_global_id(0) << 33);
}
