/* Each function of gpu/code_object/opencl/vector_functions.h: on vectors beside its elements, a bit set for
   each function that differs; new functions of numbers for the host to judge. */
#define SAME(x, y) ((x) == (y) || ((x) != (x) && (y) != (y)))
#define EACH(BIT, N, WHOLE, PART)                                                                  \
  for (int k = 0; k < N; k++)                                                                      \
    if (!SAME((WHOLE)[k], PART)) bad |= 1u << BIT;
#define ONE(BIT, N, F) EACH(BIT, N, F(a), F(a[k]))
#define TWO(BIT, N, F) EACH(BIT, N, F(a, b), F(a[k], b[k]))
#define THREE(BIT, N, F) EACH(BIT, N, F(a, b, c), F(a[k], b[k], c[k]))
#define SCALAR(BIT, N, F) EACH(BIT, N, F(a, b[1]), F(a[k], b[1]))

#define INTEGERS(T, N)                                                                             \
  __kernel void integers_##T##N(__global const T *p, __global uint *out) {                         \
    uint i = get_global_id(0), bad = 0;                                                            \
    T##N a = vload##N(i, p), b = vload##N(i + 1, p), c = vload##N(i + 2, p);                       \
    ONE(0, N, abs) ONE(1, N, popcount) ONE(2, N, clz) ONE(3, N, ctz) TWO(4, N, min) TWO(5, N, max) \
    TWO(6, N, abs_diff) TWO(7, N, rotate) TWO(8, N, mul_hi) TWO(9, N, hadd) TWO(10, N, rhadd)      \
    TWO(11, N, add_sat) TWO(12, N, sub_sat) THREE(13, N, mad_hi) THREE(14, N, mad_sat)             \
    EACH(15, N, clamp(a, min(b, c), max(b, c)), clamp(a[k], min(b[k], c[k]), max(b[k], c[k])))     \
    SCALAR(16, N, min) SCALAR(17, N, max)                                                          \
    EACH(18, N, clamp(a, (T)3, (T)99), clamp(a[k], (T)3, (T)99))                                   \
    THREE(19, N, bitselect)                                                   \
    out[i] = bad;                                                                                  \
  }
#ifdef __OPTIMIZE__
#define OF_TYPE(DO, T) DO(T, 2) DO(T, 3) DO(T, 4)
#else
#define OF_TYPE(DO, T) DO(T, 2) /* long code */
#endif
OF_TYPE(INTEGERS, char) OF_TYPE(INTEGERS, uchar) OF_TYPE(INTEGERS, short) OF_TYPE(INTEGERS, ushort)
OF_TYPE(INTEGERS, int) OF_TYPE(INTEGERS, uint) OF_TYPE(INTEGERS, long) OF_TYPE(INTEGERS, ulong)

#define CHECK(BIT, N, WHOLE, PART) EACH(BIT, N, -(WHOLE), PART)
#define FLOATS(T, N)                                                                               \
  __kernel void floats_##T##N(__global const T *p, __global uint *out) {                           \
    uint i = get_global_id(0), bad = 0;                                                            \
    T##N a = vload##N(i, p), b = vload##N(i + 1, p), c = vload##N(i + 2, p);                       \
    ONE(0, N, fabs) ONE(1, N, floor) ONE(2, N, ceil) ONE(3, N, trunc) ONE(4, N, rint)              \
    ONE(5, N, round) ONE(6, N, sqrt) ONE(7, N, sign) ONE(8, N, degrees) ONE(9, N, radians)         \
    TWO(10, N, fmin) TWO(11, N, fmax) TWO(12, N, copysign) TWO(13, N, fdim) TWO(14, N, maxmag)     \
    TWO(15, N, minmag) TWO(16, N, step) THREE(17, N, fma) THREE(18, N, mad) THREE(19, N, mix)      \
    THREE(20, N, smoothstep) SCALAR(21, N, fmin) SCALAR(22, N, max)                                \
    EACH(23, N, mix(a, b, c[1]), mix(a[k], b[k], c[1])) EACH(24, N, step(b[1], a), step(b[1], a[k])) \
    CHECK(25, N, isless(a, b), isless(a[k], b[k]))                                                 \
    CHECK(26, N, islessgreater(a, b), islessgreater(a[k], b[k]))                                   \
    CHECK(27, N, isunordered(a, b), isunordered(a[k], b[k])) CHECK(28, N, isinf(a), isinf(a[k]))   \
    CHECK(29, N, isnormal(a), isnormal(a[k])) CHECK(30, N, signbit(a), signbit(a[k]))              \
    CHECK(31, N, isfinite(a), isfinite(a[k]))                                                      \
    out[i] = bad;                                                                                  \
  }
OF_TYPE(FLOATS, float) OF_TYPE(FLOATS, double)

__kernel void numbers(__global const float *p, __global float *out, __global int *flags) {
  uint i = get_global_id(0);
  float x = p[i], whole, rest;
  int exponent;
  out += 11 * i;
  flags += 7 * i;
  out[0] = sign(x); out[1] = round(x); out[2] = fdim(x, 0.5f); out[3] = maxmag(x, -1.0f);
  out[4] = smoothstep(-2.0f, 2.0f, x); out[5] = fract(x, &whole); out[6] = whole;
  out[7] = modf(x, &rest); out[8] = frexp(x, &exponent); out[9] = ldexp(x, 3);
  out[10] = degrees(x) + radians(x);
  flags[0] = exponent; flags[1] = signbit(x); flags[2] = isfinite(x); flags[3] = isnormal(x);
  flags[4] = isgreaterequal(x, 1.0f); flags[5] = isordered(x, x); flags[6] = isequal(x, x);
}
#define SUMS(T)                                                                                    \
  __kernel void sums_##T(__global const T *a, __global const T *b, __global const T *c,            \
                         __global T *out) {                                                        \
    uint i = get_global_id(0);                                                                     \
    out[i] = mad_sat(a[i], b[i], c[i]);                                                            \
  }
SUMS(char) SUMS(uchar) SUMS(short) SUMS(ushort) SUMS(int) SUMS(uint) SUMS(long) SUMS(ulong)

/* From every type, with ends; and from floats in every rounding, element by element. */
#define ENDS(T)                                                                                    \
  __kernel void ends_##T(__global const long *n, __global const double *x, __global T *out) {      \
    uint i = get_global_id(0);                                                                     \
    out += 20 * i;                                                                                 \
    out[0] = convert_##T##_sat((char)n[i]); out[1] = convert_##T##_sat((uchar)n[i]);               \
    out[2] = convert_##T##_sat((short)n[i]); out[3] = convert_##T##_sat((ushort)n[i]);             \
    out[4] = convert_##T##_sat((int)n[i]); out[5] = convert_##T##_sat((uint)n[i]);                 \
    out[6] = convert_##T##_sat(n[i]); out[7] = convert_##T##_sat((ulong)n[i]);                     \
    out[8] = convert_##T##_sat((float)x[i]); out[9] = convert_##T##_sat(x[i]);                     \
    double2 v = (double2)(x[i], -x[i]);                                                            \
    T##2 d = convert_##T##2_sat_rte(v), e = convert_##T##2_sat_rtp(v),                             \
         f = convert_##T##2_sat_rtn(v), g = convert_##T##2_sat_rtz(v);                             \
    vstore4((T##4)(d, e), 0, out + 10); vstore4((T##4)(f, g), 0, out + 14);                        \
    float y = (float)(x[i] - floor(x[i] * 0.01) * 100);                                            \
    out[18] = convert_##T##_rtp(y); out[19] = convert_##T##16_rte((float16)(y)).sf;                \
  }
ENDS(char) ENDS(uchar) ENDS(short) ENDS(ushort) ENDS(int) ENDS(uint) ENDS(long) ENDS(ulong)

__kernel void choices(__global const int4 *a, __global const int4 *b, __global const int4 *m,
                      __global int4 *out, __global ulong *up) {
  uint i = get_global_id(0);
  out += 6 * i;
  out[0] = select(a[i], b[i], m[i]);
  out[1] = as_int4(select(as_float4(a[i]), as_float4(b[i]), as_uint4(m[i])));
  out[2] = as_int4(bitselect(as_double2(a[i]), as_double2(b[i]), as_double2(m[i])));
  out[3] = (int4)(any(m[i]), all(m[i]), select(a[i].x, b[i].x, m[i].x), any(m[i].xyz));
  out[4] = convert_int4(convert_uchar4(m[i]));
  out[5] = (int4)(upsample((short)m[i].x, (ushort)m[i].y), mul24(a[i], b[i]).z,
                  mad24(a[i].xy, b[i].xy, m[i].xy).y, select((char)1, (char)2, (char)m[i].x));
  up[i] = upsample(as_uint(a[i].x), as_uint(b[i].x));
}
__kernel void shuffles(__global const uint4 *a, __global const uint4 *b, __global uint4 *out,
                       __global uchar8 *bytes) {
  uint i = get_global_id(0);
  out[2 * i] = shuffle(a[i], b[i]);
  out[2 * i + 1] = shuffle2(a[i], b[i].wzyx, b[i]);
  bytes[i] = shuffle2(as_uchar4(a[i].x), as_uchar4(b[i].y), as_uchar8(a[i].zw));
}
__kernel void geometry(__global const float4 *a, __global const float4 *b, __global float *out,
                       __global float4 *v) {
  uint i = get_global_id(0);
  out += 4 * i;
  out[0] = dot(a[i], b[i]); out[1] = length(a[i].xyz); out[2] = distance(a[i].xy, b[i].xy);
  out[3] = fast_length(b[i]);
  v[2 * i] = cross(a[i], b[i]);
  v[2 * i + 1] = normalize(b[i]);
}
/* Rows of 96 that change places within the group, on their way through LDS. */
__kernel void moved(__global const short3 *in, __global short3 *out, __global const half *h,
                    __global half *g) {
  __local short3 row[96], third[32];
  size_t first = 96 * get_group_id(0), t = get_local_id(0);
  event_t come = async_work_group_copy(row, in + first, 96, 0);
  come = async_work_group_strided_copy(third, in + first, 32, 3, come);
  prefetch(in, 1);
  wait_group_events(1, &come);
  if (t < 32) row[t] += third[31 - t];
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t go = async_work_group_copy(out + first, row, 96, 0);
  wait_group_events(1, &go);
  vstore_half3(vload_half3(get_global_id(0), h).zyx, get_global_id(0), g);
}
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
__kernel void half_parts(__global const half *in, __global half *out, __global int *n) {
  uint i = get_global_id(0);
  half x = in[i], y = in[i ^ 1], whole, rest;
  out += 12 * i;
  n += 6 * i;
  out[0] = dot((half2)(x, y), (half2)(y, 1)); out[1] = length((half4)(x, y, x, 2));
  out[2] = distance((half3)(x, y, 1), (half3)(y, x, 3)); out[3] = normalize((half2)(x, y)).y;
  out[4] = cross((half4)(x, y, 1, 0), (half4)(y, x, 2, 0)).z; out[5] = ldexp(x, (int)i - 32);
  out[6] = frexp(x, n); out[7] = fract(x, &whole); out[8] = whole;
  out[9] = modf(x, &rest); out[10] = rest; out[11] = ldexp(x, (i & 1 ? 1 : -1) * 70000);
  n[1] = convert_char_sat(x); n[2] = convert_uchar_sat_rte(x); n[3] = convert_int_rtp(x);
  n[4] = convert_short2_sat_rtn((half2)(y, x * 1000)).y; n[5] = (int)convert_ulong16_sat((half16)(x)).sf;
}
