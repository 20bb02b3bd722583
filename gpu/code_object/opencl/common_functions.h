/* The most used of OpenCL's built-in functions, on scalars, for kernels compiled without AMD's
   device libraries: integers, minimum and maximum, rounding, conversions, vector loads,
   atomics, fences. What is missing here (sin, pow, printf ...) is missing at link time, by name. */

#define GCN_PURE extern inline __attribute__((gnu_inline, always_inline, overloadable, const))
#define GCN_ACT extern inline __attribute__((gnu_inline, always_inline, overloadable))

/* Numbers of 16 bits, whose builtins clang 11 and later have. */
#if defined(cl_khr_fp16) && __clang_major__ >= 11
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define GCN_IF_HALF(...) __VA_ARGS__
#else
#define GCN_IF_HALF(...)
#endif

#define GCN_INTEGERS(DO)                                                                           \
  DO(char, uchar) DO(uchar, uchar) DO(short, ushort) DO(ushort, ushort)                            \
  DO(int, uint) DO(uint, uint) DO(long, ulong) DO(ulong, ulong)

#define GCN_INTEGER(T, U)                                                                          \
  GCN_PURE T min(T a, T b) { return a < b ? a : b; }                                               \
  GCN_PURE T max(T a, T b) { return a > b ? a : b; }                                               \
  GCN_PURE T clamp(T x, T low, T high) { return min(max(x, low), high); }                          \
  GCN_PURE U abs(T x) { return x < (T)0 ? (U)0 - (U)x : (U)x; }                                    \
  GCN_PURE U abs_diff(T a, T b) { return a > b ? (U)a - (U)b : (U)b - (U)a; }                      \
  GCN_PURE T rotate(T x, T by) {                                                                   \
    uint n = (uint)by & (8 * sizeof(T) - 1);                                                       \
    return (T)(((U)x << n) | ((U)x >> (-n & (8 * sizeof(T) - 1))));                                \
  }                                                                                                \
  GCN_PURE T popcount(T x) { return (T)__builtin_popcountl((ulong)(U)x); }                         \
  GCN_PURE T clz(T x) {                                                                            \
    return (U)x ? (T)(__builtin_clzl((ulong)(U)x) - (64 - 8 * (int)sizeof(T)))                     \
                : (T)(8 * sizeof(T));                                                              \
  }
GCN_INTEGERS(GCN_INTEGER)

GCN_PURE int mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
GCN_PURE uint mul24(uint a, uint b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
GCN_PURE int mad24(int a, int b, int c) { return mul24(a, b) + c; }
GCN_PURE uint mad24(uint a, uint b, uint c) { return mul24(a, b) + c; }

#define GCN_HIGH(T, W, BITS)                                                                       \
  GCN_PURE T mul_hi(T a, T b) { return (T)(((W)a * (W)b) >> BITS); }
GCN_HIGH(char, int, 8) GCN_HIGH(uchar, uint, 8) GCN_HIGH(short, int, 16) GCN_HIGH(ushort, uint, 16)
GCN_HIGH(int, long, 32) GCN_HIGH(uint, ulong, 32)
GCN_PURE ulong mul_hi(ulong a, ulong b) {
  ulong a0 = (uint)a, a1 = a >> 32, b0 = (uint)b, b1 = b >> 32;
  ulong middle = a1 * b0 + (a0 * b0 >> 32), low = a0 * b1 + (uint)middle;
  return a1 * b1 + (middle >> 32) + (low >> 32);
}
GCN_PURE long mul_hi(long a, long b) {
  return (long)(mul_hi((ulong)a, (ulong)b) - (a < 0 ? (ulong)b : 0) - (b < 0 ? (ulong)a : 0));
}

/* Sums and differences that stop at the ends of the type; halves of sums, down and up. */
#define GCN_ENDS(T, U)                                                                             \
  GCN_PURE T mad_hi(T a, T b, T c) { return (T)((U)mul_hi(a, b) + (U)c); }                         \
  GCN_PURE T hadd(T a, T b) { return (T)((a >> 1) + (b >> 1) + (a & b & 1)); }                     \
  GCN_PURE T rhadd(T a, T b) { return (T)((a >> 1) + (b >> 1) + ((a | b) & 1)); }                  \
  GCN_PURE T gcn_end(T sign) {                                                                     \
    U top = (U)((U)1 << (8 * sizeof(T) - 1));                                                      \
    return (T)(sign < (T)0 ? top : (U)(top - 1));                                                  \
  }                                                                                                \
  GCN_PURE T add_sat(T a, T b) {                                                                   \
    T sum = (T)((U)a + (U)b);                                                                      \
    if ((T)-1 > (T)0) return sum < a ? (T)-1 : sum;                                                \
    return (T)((a ^ sum) & (b ^ sum)) < (T)0 ? gcn_end(a) : sum;                                   \
  }                                                                                                \
  GCN_PURE T sub_sat(T a, T b) {                                                                   \
    T rest = (T)((U)a - (U)b);                                                                     \
    if ((T)-1 > (T)0) return a < b ? (T)0 : rest;                                                  \
    return (T)((a ^ b) & (a ^ rest)) < (T)0 ? gcn_end(a) : rest;                                   \
  }                                                                                                \
  GCN_PURE T ctz(T x) {                                                                            \
    return (U)x ? (T)__builtin_ctzl((ulong)(U)x) : (T)(8 * sizeof(T));                             \
  }
GCN_INTEGERS(GCN_ENDS)

#define GCN_FLOAT(T, I, F)                                                                         \
  GCN_PURE T fmin(T a, T b) { return __builtin_fmin##F(a, b); }                                    \
  GCN_PURE T fmax(T a, T b) { return __builtin_fmax##F(a, b); }                                    \
  GCN_PURE T min(T a, T b) { return b < a ? b : a; }                                               \
  GCN_PURE T max(T a, T b) { return a < b ? b : a; }                                               \
  GCN_PURE T clamp(T x, T low, T high) { return fmin(fmax(x, low), high); }                        \
  GCN_PURE T fabs(T x) { return __builtin_fabs##F(x); }                                            \
  GCN_PURE T floor(T x) { return __builtin_floor##F(x); }                                          \
  GCN_PURE T ceil(T x) { return __builtin_ceil##F(x); }                                            \
  GCN_PURE T trunc(T x) { return __builtin_trunc##F(x); }                                          \
  GCN_PURE T rint(T x) { return __builtin_rint##F(x); }                                            \
  GCN_PURE T fma(T a, T b, T c) { return __builtin_fma##F(a, b, c); }                              \
  GCN_PURE T mad(T a, T b, T c) { return a * b + c; }                                              \
  GCN_PURE T copysign(T x, T y) { return __builtin_copysign##F(x, y); }                            \
  GCN_PURE T mix(T a, T b, T t) { return a + (b - a) * t; }                                        \
  GCN_PURE T step(T edge, T x) { return x < edge ? (T)0 : (T)1; }                                  \
  GCN_PURE int isnan(T x) { return x != x; }                                                       \
  GCN_PURE int isinf(T x) { return __builtin_fabs##F(x) == (T)INFINITY; }
GCN_FLOAT(float, int, f)
GCN_FLOAT(double, long, )
GCN_IF_HALF(GCN_FLOAT(half, short, f16))

GCN_PURE float sqrt(float x) { return __builtin_sqrtf(x); }
GCN_PURE double sqrt(double x) { return __builtin_sqrt(x); }
GCN_IF_HALF(GCN_PURE half sqrt(half x) { return (half)__builtin_sqrtf(x); })
GCN_PURE float native_sqrt(float x) { return __builtin_amdgcn_sqrtf(x); }
GCN_PURE float native_rsqrt(float x) { return __builtin_amdgcn_rsqf(x); }
GCN_PURE float native_recip(float x) { return __builtin_amdgcn_rcpf(x); }
GCN_PURE float native_divide(float a, float b) { return a * __builtin_amdgcn_rcpf(b); }
GCN_PURE float native_exp2(float x) { return __builtin_exp2f(x); }
GCN_PURE float native_log2(float x) { return __builtin_log2f(x); }
GCN_PURE float native_exp(float x) { return __builtin_exp2f(x * 1.44269504f); }
GCN_PURE float native_log(float x) { return __builtin_log2f(x) * 0.693147181f; }
GCN_PURE float native_sin(float x) { return __builtin_amdgcn_sinf(x * 0.159154943f); }
GCN_PURE float native_cos(float x) { return __builtin_amdgcn_cosf(x * 0.159154943f); }

/* Conversions as a cast does them: to integers towards zero, to floats to the nearest. */
#define GCN_FROM(T, S) GCN_PURE T convert_##T(S x) { return (T)x; }
#define GCN_TO(T)                                                                                  \
  GCN_FROM(T, char) GCN_FROM(T, uchar) GCN_FROM(T, short) GCN_FROM(T, ushort) GCN_FROM(T, int)     \
  GCN_FROM(T, uint) GCN_FROM(T, long) GCN_FROM(T, ulong) GCN_FROM(T, float) GCN_FROM(T, double)  \
  GCN_IF_HALF(GCN_FROM(T, half))
GCN_TO(char) GCN_TO(uchar) GCN_TO(short) GCN_TO(ushort) GCN_TO(int) GCN_TO(uint) GCN_TO(long)
GCN_TO(ulong) GCN_TO(float) GCN_TO(double) GCN_IF_HALF(GCN_TO(half))

/* Vectors in memory are as aligned as their elements. */
#define GCN_LOADED(T, N, SPACE, ...)                                                               \
  GCN_ACT T##N vload##N(size_t i, const SPACE T *p) {                                              \
    p += N * i;                                                                                    \
    return (T##N)(__VA_ARGS__);                                                                    \
  }
#define GCN_VECTOR(T, SPACE)                                                                       \
  GCN_LOADED(T, 2, SPACE, p[0], p[1]) GCN_LOADED(T, 3, SPACE, p[0], p[1], p[2])                    \
  GCN_LOADED(T, 4, SPACE, p[0], p[1], p[2], p[3])                                                  \
  GCN_LOADED(T, 8, SPACE, vload4(0, p), vload4(1, p))                                              \
  GCN_LOADED(T, 16, SPACE, vload8(0, p), vload8(1, p))
#define GCN_STORED(T, N, ...)                                                                      \
  GCN_ACT void vstore##N(T##N v, size_t i, T *p) {                                                 \
    p += N * i;                                                                                    \
    __VA_ARGS__;                                                                                   \
  }
#define GCN_VECTORS(T)                                                                             \
  GCN_VECTOR(T, __constant) GCN_VECTOR(T, __generic)                                               \
  GCN_STORED(T, 2, p[0] = v.x, p[1] = v.y) GCN_STORED(T, 3, p[0] = v.x, p[1] = v.y, p[2] = v.z)    \
  GCN_STORED(T, 4, p[0] = v.x, p[1] = v.y, p[2] = v.z, p[3] = v.w)                                 \
  GCN_STORED(T, 8, vstore4(v.lo, 0, p), vstore4(v.hi, 1, p))                                       \
  GCN_STORED(T, 16, vstore8(v.lo, 0, p), vstore8(v.hi, 1, p))
GCN_VECTORS(char) GCN_VECTORS(uchar) GCN_VECTORS(short) GCN_VECTORS(ushort) GCN_VECTORS(int)
GCN_VECTORS(uint) GCN_VECTORS(long) GCN_VECTORS(ulong) GCN_VECTORS(float) GCN_VECTORS(double)
GCN_IF_HALF(GCN_VECTORS(half))

GCN_ACT float vload_half(size_t i, const __constant half *p) { return __builtin_load_halff(p + i); }
GCN_ACT float vload_half(size_t i, const half *p) { return __builtin_load_halff(p + i); }
GCN_ACT void vstore_half(float x, size_t i, half *p) { __builtin_store_halff(x, p + i); }

/* OpenCL 1.x: relaxed, for the whole device; those of 64 bits begin with atom. */
#define GCN_OLD(T, SPACE, NAME, DOES, PREFIX)                                                      \
  GCN_ACT T PREFIX##NAME(volatile SPACE T *p, T x) {                                               \
    return __opencl_atomic_##DOES((volatile SPACE atomic_##T *)p, x, __ATOMIC_RELAXED,             \
                                  __OPENCL_MEMORY_SCOPE_DEVICE);                                   \
  }
#define GCN_OLD_ONES(T, SPACE, PREFIX)                                                             \
  GCN_OLD(T, SPACE, add, fetch_add, PREFIX) GCN_OLD(T, SPACE, sub, fetch_sub, PREFIX)              \
  GCN_OLD(T, SPACE, min, fetch_min, PREFIX) GCN_OLD(T, SPACE, max, fetch_max, PREFIX)              \
  GCN_OLD(T, SPACE, and, fetch_and, PREFIX) GCN_OLD(T, SPACE, or, fetch_or, PREFIX)                \
  GCN_OLD(T, SPACE, xor, fetch_xor, PREFIX) GCN_OLD(T, SPACE, xchg, exchange, PREFIX)              \
  GCN_ACT T PREFIX##inc(volatile SPACE T *p) { return PREFIX##add(p, (T)1); }                      \
  GCN_ACT T PREFIX##dec(volatile SPACE T *p) { return PREFIX##sub(p, (T)1); }                      \
  GCN_ACT T PREFIX##cmpxchg(volatile SPACE T *p, T expected, T x) {                                \
    __opencl_atomic_compare_exchange_strong((volatile SPACE atomic_##T *)p, &expected, x,          \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED,                    \
                                            __OPENCL_MEMORY_SCOPE_DEVICE);                         \
    return expected;                                                                               \
  }
#define GCN_OLD_TYPE(T, PREFIX) GCN_OLD_ONES(T, __global, PREFIX) GCN_OLD_ONES(T, __local, PREFIX)
GCN_OLD_TYPE(int, atomic_) GCN_OLD_TYPE(uint, atomic_)
GCN_OLD_TYPE(int, atom_) GCN_OLD_TYPE(uint, atom_)
GCN_OLD_TYPE(long, atom_) GCN_OLD_TYPE(ulong, atom_)
GCN_OLD(float, __global, xchg, exchange, atomic_) GCN_OLD(float, __local, xchg, exchange, atomic_)

/* A builtin's order and scope are constants; the switches are gone once the caller's are known. */
#define GCN_FENCE(SCOPE)                                                                           \
  switch (order) {                                                                                 \
  case memory_order_relaxed: break;                                                                \
  case memory_order_acquire: __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, SCOPE); break;               \
  case memory_order_release: __builtin_amdgcn_fence(__ATOMIC_RELEASE, SCOPE); break;               \
  case memory_order_acq_rel: __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, SCOPE); break;               \
  default: __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, SCOPE);                                        \
  }
GCN_ACT void atomic_work_item_fence(cl_mem_fence_flags flags, memory_order order,
                                    memory_scope scope) {
  switch ((int)scope) {
  case __OPENCL_MEMORY_SCOPE_WORK_ITEM: break;
  case __OPENCL_MEMORY_SCOPE_SUB_GROUP: GCN_FENCE("wavefront") break;
  case __OPENCL_MEMORY_SCOPE_WORK_GROUP: GCN_FENCE("workgroup") break;
  case __OPENCL_MEMORY_SCOPE_DEVICE: GCN_FENCE("agent") break;
  default: GCN_FENCE("")
  }
}
GCN_ACT void mem_fence(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "workgroup");
}
GCN_ACT void read_mem_fence(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
GCN_ACT void write_mem_fence(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
}

/* OpenCL 2.0: order and scope as given, else sequentially consistent for the whole device. */
#define GCN_NEW(T, NAME)                                                                           \
  GCN_ACT T atomic_##NAME##_explicit(volatile atomic_##T *p, T x, memory_order order,              \
                                     memory_scope scope) {                                         \
    return __opencl_atomic_##NAME(p, x, order, scope);                                             \
  }                                                                                                \
  GCN_ACT T atomic_##NAME##_explicit(volatile atomic_##T *p, T x, memory_order order) {            \
    return __opencl_atomic_##NAME(p, x, order, memory_scope_device);                               \
  }                                                                                                \
  GCN_ACT T atomic_##NAME(volatile atomic_##T *p, T x) {                                           \
    return __opencl_atomic_##NAME(p, x, memory_order_seq_cst, memory_scope_device);                \
  }
#define GCN_NEW_ONES(T)                                                                            \
  GCN_NEW(T, fetch_add) GCN_NEW(T, fetch_sub) GCN_NEW(T, fetch_min) GCN_NEW(T, fetch_max)          \
  GCN_NEW(T, fetch_and) GCN_NEW(T, fetch_or) GCN_NEW(T, fetch_xor) GCN_NEW_OF_ALL(T)
#define GCN_NEW_OF_ALL(T)                                                                          \
  GCN_NEW(T, exchange)                                                                             \
  GCN_ACT void atomic_init(volatile atomic_##T *p, T x) { __opencl_atomic_init(p, x); }            \
  GCN_ACT T atomic_load_explicit(volatile atomic_##T *p, memory_order order, memory_scope scope) { \
    return __opencl_atomic_load(p, order, scope);                                                  \
  }                                                                                                \
  GCN_ACT T atomic_load_explicit(volatile atomic_##T *p, memory_order order) {                     \
    return __opencl_atomic_load(p, order, memory_scope_device);                                    \
  }                                                                                                \
  GCN_ACT T atomic_load(volatile atomic_##T *p) {                                                  \
    return __opencl_atomic_load(p, memory_order_seq_cst, memory_scope_device);                     \
  }                                                                                                \
  GCN_ACT void atomic_store_explicit(volatile atomic_##T *p, T x, memory_order order,              \
                                     memory_scope scope) {                                         \
    __opencl_atomic_store(p, x, order, scope);                                                     \
  }                                                                                                \
  GCN_ACT void atomic_store_explicit(volatile atomic_##T *p, T x, memory_order order) {            \
    __opencl_atomic_store(p, x, order, memory_scope_device);                                       \
  }                                                                                                \
  GCN_ACT void atomic_store(volatile atomic_##T *p, T x) {                                         \
    __opencl_atomic_store(p, x, memory_order_seq_cst, memory_scope_device);                        \
  }                                                                                                \
  GCN_NEW_SWAP(T, strong) GCN_NEW_SWAP(T, weak)
#define GCN_NEW_SWAP(T, KIND)                                                                      \
  GCN_ACT bool atomic_compare_exchange_##KIND##_explicit(                                          \
      volatile atomic_##T *p, T *expected, T x, memory_order order, memory_order failing,          \
      memory_scope scope) {                                                                        \
    return __opencl_atomic_compare_exchange_##KIND(p, expected, x, order, failing, scope);         \
  }                                                                                                \
  GCN_ACT bool atomic_compare_exchange_##KIND##_explicit(                                          \
      volatile atomic_##T *p, T *expected, T x, memory_order order, memory_order failing) {        \
    return __opencl_atomic_compare_exchange_##KIND(p, expected, x, order, failing,                 \
                                                   memory_scope_device);                           \
  }                                                                                                \
  GCN_ACT bool atomic_compare_exchange_##KIND(volatile atomic_##T *p, T *expected, T x) {          \
    return __opencl_atomic_compare_exchange_##KIND(p, expected, x, memory_order_seq_cst,           \
                                                   memory_order_seq_cst, memory_scope_device);     \
  }
GCN_NEW_ONES(int) GCN_NEW_ONES(uint) GCN_NEW_ONES(long) GCN_NEW_ONES(ulong)
GCN_NEW_OF_ALL(float) GCN_NEW_OF_ALL(double)

GCN_ACT bool atomic_flag_test_and_set_explicit(volatile atomic_flag *p, memory_order order,
                                               memory_scope scope) {
  return __opencl_atomic_exchange(p, 1, order, scope);
}
GCN_ACT bool atomic_flag_test_and_set_explicit(volatile atomic_flag *p, memory_order order) {
  return __opencl_atomic_exchange(p, 1, order, memory_scope_device);
}
GCN_ACT bool atomic_flag_test_and_set(volatile atomic_flag *p) {
  return __opencl_atomic_exchange(p, 1, memory_order_seq_cst, memory_scope_device);
}
GCN_ACT void atomic_flag_clear_explicit(volatile atomic_flag *p, memory_order order,
                                        memory_scope scope) {
  __opencl_atomic_store(p, 0, order, scope);
}
GCN_ACT void atomic_flag_clear_explicit(volatile atomic_flag *p, memory_order order) {
  __opencl_atomic_store(p, 0, order, memory_scope_device);
}
GCN_ACT void atomic_flag_clear(volatile atomic_flag *p) {
  __opencl_atomic_store(p, 0, memory_order_seq_cst, memory_scope_device);
}

#undef GCN_PURE
#undef GCN_ACT
