/* OpenCL's built-in functions on vectors, and those that choose, compare, shuffle and copy, for
   kernels compiled without AMD's device libraries. Comes after common_functions.h: what that does
   with a number is done here with each element. */

#define GCN_PURE extern inline __attribute__((gnu_inline, always_inline, overloadable, const))
#define GCN_ACT extern inline __attribute__((gnu_inline, always_inline, overloadable))

#define GCN_SIGNED(DO) DO(char, uchar) DO(short, ushort) DO(int, uint) DO(long, ulong)
#define GCN_OF_INTEGERS(DO)                                                                        \
  GCN_SIGNED(DO) DO(uchar, uchar) DO(ushort, ushort) DO(uint, uint) DO(ulong, ulong)
#define GCN_TYPES(DO)                                                                              \
  DO(char) DO(uchar) DO(short) DO(ushort) DO(int) DO(uint) DO(long) DO(ulong) DO(float) DO(double) \
  GCN_IF_HALF(DO(half))

/* A function of vectors made of the same function of their halves. */
#define GCN_EACH_1(R, T, NAME)                                                                     \
  GCN_PURE R##2 NAME(T##2 a) { return (R##2)(NAME(a.x), NAME(a.y)); }                              \
  GCN_PURE R##3 NAME(T##3 a) { return (R##3)(NAME(a.x), NAME(a.y), NAME(a.z)); }                   \
  GCN_PURE R##4 NAME(T##4 a) { return (R##4)(NAME(a.lo), NAME(a.hi)); }                            \
  GCN_PURE R##8 NAME(T##8 a) { return (R##8)(NAME(a.lo), NAME(a.hi)); }                            \
  GCN_PURE R##16 NAME(T##16 a) { return (R##16)(NAME(a.lo), NAME(a.hi)); }
#define GCN_EACH_2(R, T, U, NAME)                                                                  \
  GCN_PURE R##2 NAME(T##2 a, U##2 b) { return (R##2)(NAME(a.x, b.x), NAME(a.y, b.y)); }            \
  GCN_PURE R##3 NAME(T##3 a, U##3 b) {                                                             \
    return (R##3)(NAME(a.x, b.x), NAME(a.y, b.y), NAME(a.z, b.z));                                 \
  }                                                                                                \
  GCN_PURE R##4 NAME(T##4 a, U##4 b) { return (R##4)(NAME(a.lo, b.lo), NAME(a.hi, b.hi)); }        \
  GCN_PURE R##8 NAME(T##8 a, U##8 b) { return (R##8)(NAME(a.lo, b.lo), NAME(a.hi, b.hi)); }        \
  GCN_PURE R##16 NAME(T##16 a, U##16 b) { return (R##16)(NAME(a.lo, b.lo), NAME(a.hi, b.hi)); }
#define GCN_EACH_3(T, N, NAME)                                                                     \
  GCN_PURE T##N NAME(T##N a, T##N b, T##N c) {                                                     \
    return (T##N)(NAME(a.lo, b.lo, c.lo), NAME(a.hi, b.hi, c.hi));                                 \
  }
#define GCN_EACH_OF_3(T, NAME)                                                                     \
  GCN_PURE T##2 NAME(T##2 a, T##2 b, T##2 c) {                                                     \
    return (T##2)(NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y));                                       \
  }                                                                                                \
  GCN_PURE T##3 NAME(T##3 a, T##3 b, T##3 c) {                                                     \
    return (T##3)(NAME(a.x, b.x, c.x), NAME(a.y, b.y, c.y), NAME(a.z, b.z, c.z));                  \
  }                                                                                                \
  GCN_EACH_3(T, 4, NAME) GCN_EACH_3(T, 8, NAME) GCN_EACH_3(T, 16, NAME)

/* A vector and one number for all of its elements. */
#define GCN_WITH_ONE(T, N, NAME)                                                                   \
  GCN_PURE T##N NAME(T##N a, T b) { return NAME(a, (T##N)(b)); }
#define GCN_WITH_TWO(T, N, NAME)                                                                   \
  GCN_PURE T##N NAME(T##N a, T b, T c) { return NAME(a, (T##N)(b), (T##N)(c)); }
#define GCN_WIDTHS(DO, T, NAME)                                                                    \
  DO(T, 2, NAME) DO(T, 3, NAME) DO(T, 4, NAME) DO(T, 8, NAME) DO(T, 16, NAME)

#define GCN_INTEGER_VECTORS(T, U)                                                                  \
  GCN_EACH_2(T, T, T, min) GCN_EACH_2(T, T, T, max) GCN_EACH_OF_3(T, clamp)                        \
  GCN_WIDTHS(GCN_WITH_ONE, T, min) GCN_WIDTHS(GCN_WITH_ONE, T, max)                                \
  GCN_WIDTHS(GCN_WITH_TWO, T, clamp)                                                               \
  GCN_EACH_1(U, T, abs) GCN_EACH_2(U, T, T, abs_diff) GCN_EACH_2(T, T, T, rotate)                  \
  GCN_EACH_1(T, T, popcount) GCN_EACH_1(T, T, clz) GCN_EACH_1(T, T, ctz)                           \
  GCN_EACH_2(T, T, T, mul_hi) GCN_EACH_OF_3(T, mad_hi)                                             \
  GCN_EACH_2(T, T, T, hadd) GCN_EACH_2(T, T, T, rhadd)                                             \
  GCN_EACH_2(T, T, T, add_sat) GCN_EACH_2(T, T, T, sub_sat)
GCN_OF_INTEGERS(GCN_INTEGER_VECTORS)

GCN_EACH_2(int, int, int, mul24) GCN_EACH_2(uint, uint, uint, mul24)
GCN_EACH_OF_3(int, mad24) GCN_EACH_OF_3(uint, mad24)

/* The product's ends are the sum's, unless the sum leads back. */
#define GCN_SHORT_MAD(T, W)                                                                        \
  GCN_PURE T mad_sat(T a, T b, T c) {                                                              \
    W top = (W)(((T)-1 > (T)0 ? (T)-1 : (T)(((W)1 << (8 * sizeof(T) - 1)) - 1)));                  \
    return (T)clamp((W)a * (W)b + (W)c, (T)-1 > (T)0 ? (W)0 : -top - 1, top);                      \
  }
GCN_SHORT_MAD(char, int) GCN_SHORT_MAD(uchar, int) GCN_SHORT_MAD(short, int)
GCN_SHORT_MAD(ushort, long) GCN_SHORT_MAD(int, long)
GCN_PURE uint mad_sat(uint a, uint b, uint c) {
  return (uint)min((ulong)a * b + c, (ulong)0xFFFFFFFF);
}
GCN_PURE ulong mad_sat(ulong a, ulong b, ulong c) {
  return mul_hi(a, b) ? ~0ul : add_sat(a * b, c);
}
GCN_PURE long mad_sat(long a, long b, long c) {
  long high = mul_hi(a, b);
  ulong low = (ulong)a * (ulong)b, sum = low + (ulong)c;
  high += (c >> 63) + (sum < low);
  return high == (long)sum >> 63 ? (long)sum : high < 0 ? (long)(1ul << 63) : (long)(~0ul >> 1);
}
#define GCN_MAD(T, U) GCN_EACH_OF_3(T, mad_sat)
GCN_OF_INTEGERS(GCN_MAD)

/* Two numbers as the halves of one of twice the width. */
#define GCN_UPSAMPLE(W, T, U, BITS)                                                                \
  GCN_PURE W upsample(T high, U low) { return (W)((W)high << BITS | (W)low); }                     \
  GCN_EACH_2(W, T, U, upsample)
GCN_UPSAMPLE(short, char, uchar, 8) GCN_UPSAMPLE(ushort, uchar, uchar, 8)
GCN_UPSAMPLE(int, short, ushort, 16) GCN_UPSAMPLE(uint, ushort, ushort, 16)
GCN_UPSAMPLE(long, int, uint, 32) GCN_UPSAMPLE(ulong, uint, uint, 32)

/* Comparisons give 1 for numbers and all bits for vectors' elements. */
#define GCN_COMPARE(T, I, N)                                                                       \
  GCN_PURE I##N isequal(T##N a, T##N b) { return a == b; }                                         \
  GCN_PURE I##N isnotequal(T##N a, T##N b) { return a != b; }                                      \
  GCN_PURE I##N isgreater(T##N a, T##N b) { return a > b; }                                        \
  GCN_PURE I##N isgreaterequal(T##N a, T##N b) { return a >= b; }                                  \
  GCN_PURE I##N isless(T##N a, T##N b) { return a < b; }                                           \
  GCN_PURE I##N islessequal(T##N a, T##N b) { return a <= b; }                                     \
  GCN_PURE I##N islessgreater(T##N a, T##N b) { return a < b || a > b; }                           \
  GCN_PURE I##N isordered(T##N a, T##N b) { return a == a && b == b; }                             \
  GCN_PURE I##N isunordered(T##N a, T##N b) { return a != a || b != b; }                           \
  GCN_PURE I##N isfinite(T##N a) { return a - a == (T##N)(0); }
GCN_COMPARE(float, int, ) GCN_COMPARE(float, int, 2) GCN_COMPARE(float, int, 3)
GCN_COMPARE(float, int, 4) GCN_COMPARE(float, int, 8) GCN_COMPARE(float, int, 16)
GCN_COMPARE(double, long, 2) GCN_COMPARE(double, long, 3) GCN_COMPARE(double, long, 4)
GCN_COMPARE(double, long, 8) GCN_COMPARE(double, long, 16)
GCN_COMPARE(double, int, )
GCN_IF_HALF(GCN_COMPARE(half, int, ) GCN_COMPARE(half, short, 2) GCN_COMPARE(half, short, 3)
            GCN_COMPARE(half, short, 4) GCN_COMPARE(half, short, 8) GCN_COMPARE(half, short, 16))
#define GCN_KINDS(T, I, LEAST)                                                                     \
  GCN_PURE int signbit(T x) { return as_##I(x) < 0; }                                              \
  GCN_PURE int isnormal(T x) { return __builtin_fabs(x) >= LEAST && x - x == 0; }
GCN_KINDS(float, int, 0x1p-126) GCN_KINDS(double, long, 0x1p-1022)
GCN_IF_HALF(GCN_KINDS(half, short, 0x1p-14))
#define GCN_KIND(T, I, N)                                                                          \
  GCN_PURE I##N isnan(T##N x) { return x != x; }                                                   \
  GCN_PURE I##N isinf(T##N x) { return x == x && x - x != (T##N)(0); }                             \
  GCN_PURE I##N signbit(T##N x) { return as_##I##N(x) < (I##N)(0); }                               \
  GCN_PURE I##N isnormal(T##N x) {                                                                 \
    return x - x == (T##N)(0) && (x >= LEAST_##T || x <= -LEAST_##T);                              \
  }
#define LEAST_float 0x1p-126f
#define LEAST_double 0x1p-1022
#define LEAST_half (half)0x1p-14
GCN_KIND(float, int, 2) GCN_KIND(float, int, 3) GCN_KIND(float, int, 4) GCN_KIND(float, int, 8)
GCN_KIND(float, int, 16) GCN_KIND(double, long, 2) GCN_KIND(double, long, 3)
GCN_KIND(double, long, 4) GCN_KIND(double, long, 8) GCN_KIND(double, long, 16)
GCN_IF_HALF(GCN_KIND(half, short, 2) GCN_KIND(half, short, 3) GCN_KIND(half, short, 4)
            GCN_KIND(half, short, 8) GCN_KIND(half, short, 16))
#undef LEAST_half
#undef LEAST_float
#undef LEAST_double

#define GCN_ANY_ALL(T, U)                                                                          \
  GCN_PURE int any(T x) { return x < 0; }                                                          \
  GCN_PURE int all(T x) { return x < 0; }                                                          \
  GCN_PURE int any(T##2 x) { return (x.x | x.y) < 0; }                                             \
  GCN_PURE int all(T##2 x) { return (x.x & x.y) < 0; }                                             \
  GCN_PURE int any(T##3 x) { return (x.x | x.y | x.z) < 0; }                                       \
  GCN_PURE int all(T##3 x) { return (x.x & x.y & x.z) < 0; }                                       \
  GCN_PURE int any(T##4 x) { return any(x.lo | x.hi); }                                            \
  GCN_PURE int all(T##4 x) { return all(x.lo & x.hi); }                                            \
  GCN_PURE int any(T##8 x) { return any(x.lo | x.hi); }                                            \
  GCN_PURE int all(T##8 x) { return all(x.lo & x.hi); }                                            \
  GCN_PURE int any(T##16 x) { return any(x.lo | x.hi); }                                           \
  GCN_PURE int all(T##16 x) { return all(x.lo & x.hi); }
GCN_SIGNED(GCN_ANY_ALL)

/* Choices: by a number, by each element's highest bit, by each bit. */
#define GCN_SELECT(T, M, S, N)                                                                     \
  GCN_PURE T##N select(T##N a, T##N b, M##N m) { return as_##S##N(m) < (S##N)(0) ? b : a; }
#define GCN_SELECTS(T, M, S)                                                                       \
  GCN_PURE T select(T a, T b, M m) { return m ? b : a; }                                           \
  GCN_SELECT(T, M, S, 2) GCN_SELECT(T, M, S, 3) GCN_SELECT(T, M, S, 4) GCN_SELECT(T, M, S, 8)      \
  GCN_SELECT(T, M, S, 16)
#define GCN_SELECTED(T, S, U) GCN_SELECTS(T, S, S) GCN_SELECTS(T, U, S)
GCN_SELECTED(char, char, uchar) GCN_SELECTED(uchar, char, uchar)
GCN_SELECTED(short, short, ushort) GCN_SELECTED(ushort, short, ushort)
GCN_SELECTED(int, int, uint) GCN_SELECTED(uint, int, uint) GCN_SELECTED(float, int, uint)
GCN_SELECTED(long, long, ulong) GCN_SELECTED(ulong, long, ulong) GCN_SELECTED(double, long, ulong)
GCN_IF_HALF(GCN_SELECTED(half, short, ushort))

#define GCN_BITSELECT(T, U, N)                                                                     \
  GCN_PURE T##N bitselect(T##N a, T##N b, T##N m) {                                                \
    U##N bits = (as_##U##N(a) & ~as_##U##N(m)) | (as_##U##N(b) & as_##U##N(m));                    \
    return as_##T##N(bits);                                                                        \
  }
#define GCN_BITSELECTS(T, U)                                                                       \
  GCN_BITSELECT(T, U, 2) GCN_BITSELECT(T, U, 3) GCN_BITSELECT(T, U, 4) GCN_BITSELECT(T, U, 8)      \
  GCN_BITSELECT(T, U, 16)
#define GCN_BITS(T, U)                                                                             \
  GCN_PURE T bitselect(T a, T b, T m) { return (T)((a & ~m) | (b & m)); }                          \
  GCN_BITSELECTS(T, U)
GCN_OF_INTEGERS(GCN_BITS) GCN_BITSELECT(float, uint, ) GCN_BITSELECT(double, ulong, )
GCN_BITSELECTS(float, uint) GCN_BITSELECTS(double, ulong)
GCN_IF_HALF(GCN_BITSELECT(half, ushort, ) GCN_BITSELECTS(half, ushort))

/* Floats: what is made of an element's functions, and more functions of both. */
GCN_PURE float rsqrt(float x) { return 1 / sqrt(x); }
GCN_PURE double rsqrt(double x) { return 1 / sqrt(x); }
GCN_IF_HALF(GCN_PURE half rsqrt(half x) { return (half)rsqrt((float)x); })
#define GCN_FLOAT_VECTORS(T, I)                                                                    \
  GCN_PURE T sign(T x) { return x != x ? (T)0 : x == 0 ? x : copysign((T)1, x); }                  \
  GCN_PURE T degrees(T x) { return x * (T)57.295779513082320877; }                                 \
  GCN_PURE T radians(T x) { return x * (T)0.017453292519943295769; }                               \
  GCN_PURE T smoothstep(T low, T high, T x) {                                                      \
    T t = clamp((x - low) / (high - low), (T)0, (T)1);                                             \
    return t * t * (3 - 2 * t);                                                                    \
  }                                                                                                \
  GCN_PURE T fdim(T a, T b) { return a != a || b != b ? a + b : a > b ? a - b : (T)0; }            \
  GCN_PURE T round(T x) {                                                                          \
    T down = trunc(x);                                                                             \
    return copysign(fabs(x - down) >= (T)0.5 ? down + copysign((T)1, x) : down, x);                \
  }                                                                                                \
  GCN_PURE T maxmag(T a, T b) {                                                                    \
    return fabs(a) > fabs(b) ? a : fabs(b) > fabs(a) ? b : fmax(a, b);                             \
  }                                                                                                \
  GCN_PURE T minmag(T a, T b) {                                                                    \
    return fabs(a) < fabs(b) ? a : fabs(b) < fabs(a) ? b : fmin(a, b);                             \
  }                                                                                                \
  GCN_EACH_2(T, T, T, fmin) GCN_EACH_2(T, T, T, fmax) GCN_EACH_2(T, T, T, min)                     \
  GCN_EACH_2(T, T, T, max) GCN_EACH_OF_3(T, clamp) GCN_EACH_OF_3(T, fma) GCN_EACH_OF_3(T, mad)     \
  GCN_EACH_OF_3(T, mix) GCN_EACH_OF_3(T, smoothstep) GCN_EACH_2(T, T, T, step)                     \
  GCN_EACH_1(T, T, fabs) GCN_EACH_1(T, T, floor) GCN_EACH_1(T, T, ceil) GCN_EACH_1(T, T, trunc)    \
  GCN_EACH_1(T, T, rint) GCN_EACH_1(T, T, round) GCN_EACH_1(T, T, sqrt) GCN_EACH_1(T, T, rsqrt)    \
  GCN_EACH_1(T, T, sign) GCN_EACH_1(T, T, degrees) GCN_EACH_1(T, T, radians)                       \
  GCN_EACH_2(T, T, T, copysign) GCN_EACH_2(T, T, T, fdim) GCN_EACH_2(T, T, T, maxmag)              \
  GCN_EACH_2(T, T, T, minmag) GCN_WIDTHS(GCN_WITH_ONE, T, fmin) GCN_WIDTHS(GCN_WITH_ONE, T, fmax)  \
  GCN_WIDTHS(GCN_WITH_ONE, T, min) GCN_WIDTHS(GCN_WITH_ONE, T, max)                                \
  GCN_WIDTHS(GCN_WITH_TWO, T, clamp) GCN_WIDTHS(GCN_MIXED, T, mix)                                 \
  GCN_WIDTHS(GCN_STEPS, T, step)
#define GCN_MIXED(T, N, NAME)                                                                      \
  GCN_PURE T##N mix(T##N a, T##N b, T t) { return mix(a, b, (T##N)(t)); }
#define GCN_STEPS(T, N, NAME)                                                                      \
  GCN_PURE T##N step(T edge, T##N x) { return step((T##N)(edge), x); }                             \
  GCN_PURE T##N smoothstep(T low, T high, T##N x) {                                                \
    return smoothstep((T##N)(low), (T##N)(high), x);                                               \
  }
GCN_FLOAT_VECTORS(float, int)
GCN_FLOAT_VECTORS(double, long)
GCN_IF_HALF(GCN_FLOAT_VECTORS(half, short))

/* A number in parts. EXPONENT: n, in the bits that the instruction has for it. */
#define GCN_PARTS(T, F, BELOW_ONE, EXPONENT)                                                       \
  GCN_PURE T ldexp(T x, int n) { return __builtin_amdgcn_ldexp##F(x, EXPONENT); }                  \
  GCN_ACT T fract(T x, T *whole) {                                                                 \
    *whole = floor(x);                                                                             \
    T rest = x - *whole, most = 1 - (T)BELOW_ONE;                                                  \
    return x != x ? x : isinf(x) ? copysign((T)0, x) : rest < most ? rest : most;                  \
  }                                                                                                \
  GCN_ACT T modf(T x, T *whole) {                                                                  \
    *whole = trunc(x);                                                                             \
    return copysign(isinf(x) ? (T)0 : x - *whole, x);                                              \
  }                                                                                                \
  GCN_ACT T frexp(T x, int *exponent) {                                                            \
    *exponent = __builtin_amdgcn_frexp_exp##F(x);                                                  \
    return __builtin_amdgcn_frexp_mant##F(x);                                                      \
  }
GCN_PARTS(float, f, 0x1p-24, n) GCN_PARTS(double, , 0x1p-53, n)
GCN_IF_HALF(GCN_PARTS(half, h, 0x1p-11, clamp(n, -99, 99)))

GCN_EACH_1(float, float, native_sqrt) GCN_EACH_1(float, float, native_rsqrt)
GCN_EACH_1(float, float, native_recip) GCN_EACH_2(float, float, float, native_divide)
GCN_EACH_1(float, float, native_exp2) GCN_EACH_1(float, float, native_log2)
GCN_EACH_1(float, float, native_exp) GCN_EACH_1(float, float, native_log)
GCN_EACH_1(float, float, native_sin) GCN_EACH_1(float, float, native_cos)

#define GCN_GEOMETRY(T)                                                                            \
  GCN_PURE T dot(T a, T b) { return a * b; }                                                       \
  GCN_PURE T dot(T##2 a, T##2 b) { return a.x * b.x + a.y * b.y; }                                 \
  GCN_PURE T dot(T##3 a, T##3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }                     \
  GCN_PURE T dot(T##4 a, T##4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }         \
  GCN_PURE T##3 cross(T##3 a, T##3 b) { return a.yzx * b.zxy - a.zxy * b.yzx; }                    \
  GCN_PURE T##4 cross(T##4 a, T##4 b) { return (T##4)(cross(a.xyz, b.xyz), 0); }                   \
  GCN_PURE T length(T a) { return fabs(a); }                                                       \
  GCN_PURE T normalize(T a) { return sign(a); }                                                    \
  GCN_PURE T distance(T a, T b) { return fabs(a - b); }
#define GCN_LENGTHS(T, N)                                                                          \
  GCN_PURE T length(T##N a) { return sqrt(dot(a, a)); }                                            \
  GCN_PURE T distance(T##N a, T##N b) { return length(a - b); }                                    \
  GCN_PURE T##N normalize(T##N a) {                                                                \
    T square = dot(a, a);                                                                          \
    return square == 0 ? a : a / sqrt(square);                                                     \
  }
GCN_GEOMETRY(float) GCN_GEOMETRY(double)
GCN_LENGTHS(float, 2) GCN_LENGTHS(float, 3) GCN_LENGTHS(float, 4)
GCN_LENGTHS(double, 2) GCN_LENGTHS(double, 3) GCN_LENGTHS(double, 4)
#define GCN_HALF_LENGTHS(N) /* whose squares need not be halves */                                 \
  GCN_PURE half length(half##N a) {                                                                \
    return (half)length(__builtin_convertvector(a, float##N));                                     \
  }                                                                                                \
  GCN_PURE half distance(half##N a, half##N b) { return length(a - b); }                           \
  GCN_PURE half##N normalize(half##N a) {                                                          \
    return __builtin_convertvector(normalize(__builtin_convertvector(a, float##N)), half##N);      \
  }
GCN_IF_HALF(GCN_GEOMETRY(half) GCN_HALF_LENGTHS(2) GCN_HALF_LENGTHS(3) GCN_HALF_LENGTHS(4))
#define GCN_FAST(T)                                                                                \
  GCN_PURE float fast_length(T a) { return length(a); }                                            \
  GCN_PURE float fast_distance(T a, T b) { return distance(a, b); }                                \
  GCN_PURE T fast_normalize(T a) { return normalize(a); }
GCN_FAST(float) GCN_FAST(float2) GCN_FAST(float3) GCN_FAST(float4)

/* Conversions of vectors as casts do them. */
#define GCN_CAST(T, N, S)                                                                          \
  GCN_PURE T##N convert_##T##N(S##N x) { return __builtin_convertvector(x, T##N); }
#define GCN_FROM_ALL(T, N)                                                                         \
  GCN_CAST(T, N, char) GCN_CAST(T, N, uchar) GCN_CAST(T, N, short) GCN_CAST(T, N, ushort)          \
  GCN_CAST(T, N, int) GCN_CAST(T, N, uint) GCN_CAST(T, N, long) GCN_CAST(T, N, ulong)              \
  GCN_CAST(T, N, float) GCN_CAST(T, N, double) GCN_IF_HALF(GCN_CAST(T, N, half))
#define GCN_CASTS_TO(T)                                                                            \
  GCN_FROM_ALL(T, 2) GCN_FROM_ALL(T, 3) GCN_FROM_ALL(T, 4) GCN_FROM_ALL(T, 8) GCN_FROM_ALL(T, 16)
GCN_TYPES(GCN_CASTS_TO)

/* Conversions with a rounding, and those that stop at the ends of the type; no number becomes 0. */
#define GCN_VECTORS_OF(T, S, MODE)                                                                 \
  GCN_PURE T##2 convert_##T##2##MODE(S##2 x) {                                                     \
    return (T##2)(convert_##T##MODE(x.x), convert_##T##MODE(x.y));                                 \
  }                                                                                                \
  GCN_PURE T##3 convert_##T##3##MODE(S##3 x) {                                                     \
    return (T##3)(convert_##T##2##MODE(x.xy), convert_##T##MODE(x.z));                             \
  }                                                                                                \
  GCN_PURE T##4 convert_##T##4##MODE(S##4 x) {                                                     \
    return (T##4)(convert_##T##2##MODE(x.lo), convert_##T##2##MODE(x.hi));                         \
  }                                                                                                \
  GCN_PURE T##8 convert_##T##8##MODE(S##8 x) {                                                     \
    return (T##8)(convert_##T##4##MODE(x.lo), convert_##T##4##MODE(x.hi));                         \
  }                                                                                                \
  GCN_PURE T##16 convert_##T##16##MODE(S##16 x) {                                                  \
    return (T##16)(convert_##T##8##MODE(x.lo), convert_##T##8##MODE(x.hi));                        \
  }
#define GCN_SAT(T, S, OTHERWISE)                                                                   \
  GCN_PURE T convert_##T##_sat(S x) { return OTHERWISE; }                                          \
  GCN_VECTORS_OF(T, S, _sat)
#define GCN_ROUNDED(T, S, MODE, BY)                                                                \
  GCN_PURE T convert_##T##MODE(S x) { return (T)BY(x); }                                           \
  GCN_PURE T convert_##T##_sat##MODE(S x) { return convert_##T##_sat(BY(x)); }                     \
  GCN_VECTORS_OF(T, S, MODE) GCN_VECTORS_OF(T, S, _sat##MODE)
#define GCN_FROM_FLOAT(T, S, OTHERWISE)                                                            \
  GCN_SAT(T, S, OTHERWISE)                                                                         \
  GCN_ROUNDED(T, S, _rte, rint) GCN_ROUNDED(T, S, _rtz, trunc)                                     \
  GCN_ROUNDED(T, S, _rtp, ceil) GCN_ROUNDED(T, S, _rtn, floor)
#define GCN_CUT(T, S, LOW, HIGH)                                                                   \
  (x != x ? (T)0 : x <= (S)LOW ? LOW : x >= (S)HIGH ? HIGH : (T)x)
#define GCN_SATURATED(T, LOW, HIGH, TOP)                                                           \
  GCN_SAT(T, char, (long)x < (long)LOW ? LOW : (long)x > (long)TOP ? HIGH : (T)x)                  \
  GCN_SAT(T, short, (long)x < (long)LOW ? LOW : (long)x > (long)TOP ? HIGH : (T)x)                 \
  GCN_SAT(T, int, (long)x < (long)LOW ? LOW : (long)x > (long)TOP ? HIGH : (T)x)                   \
  GCN_SAT(T, long, (long)x < (long)LOW ? LOW : (long)x > (long)TOP ? HIGH : (T)x)                  \
  GCN_SAT(T, uchar, (ulong)x > (ulong)HIGH ? HIGH : (T)x)                                          \
  GCN_SAT(T, ushort, (ulong)x > (ulong)HIGH ? HIGH : (T)x)                                         \
  GCN_SAT(T, uint, (ulong)x > (ulong)HIGH ? HIGH : (T)x)                                           \
  GCN_SAT(T, ulong, (ulong)x > (ulong)HIGH ? HIGH : (T)x)                                          \
  GCN_FROM_FLOAT(T, float, GCN_CUT(T, float, LOW, HIGH))                                           \
  GCN_FROM_FLOAT(T, double, GCN_CUT(T, double, LOW, HIGH))                                         \
  GCN_IF_HALF(GCN_FROM_FLOAT(T, half, convert_##T##_sat((float)x)))
GCN_SATURATED(char, CHAR_MIN, CHAR_MAX, CHAR_MAX)
GCN_SATURATED(short, SHRT_MIN, SHRT_MAX, SHRT_MAX)
GCN_SATURATED(int, INT_MIN, INT_MAX, INT_MAX)
GCN_SATURATED(long, LONG_MIN, LONG_MAX, LONG_MAX)
GCN_SATURATED(uchar, 0, UCHAR_MAX, UCHAR_MAX)
GCN_SATURATED(ushort, 0, USHRT_MAX, USHRT_MAX)
GCN_SATURATED(uint, 0, UINT_MAX, UINT_MAX)
GCN_SATURATED(ulong, 0, ULONG_MAX, LONG_MAX)

/* Elements by number: of one vector, or of two, one behind the other. */
#define GCN_SHUFFLE(T, U, N, M)                                                                    \
  GCN_PURE T##N shuffle(T##M x, U##N mask) {                                                       \
    T##N r;                                                                                        \
    for (uint k = 0; k < N; k++) r[k] = x[mask[k] & (M - 1)];                                      \
    return r;                                                                                      \
  }                                                                                                \
  GCN_PURE T##N shuffle2(T##M x, T##M y, U##N mask) {                                              \
    T##N r;                                                                                        \
    for (uint k = 0; k < N; k++) r[k] = mask[k] & M ? y[mask[k] & (M - 1)] : x[mask[k] & (M - 1)]; \
    return r;                                                                                      \
  }
#define GCN_SHUFFLES_TO(T, U, N)                                                                   \
  GCN_SHUFFLE(T, U, N, 2) GCN_SHUFFLE(T, U, N, 4) GCN_SHUFFLE(T, U, N, 8) GCN_SHUFFLE(T, U, N, 16)
#define GCN_SHUFFLES(T, U)                                                                         \
  GCN_SHUFFLES_TO(T, U, 2) GCN_SHUFFLES_TO(T, U, 4) GCN_SHUFFLES_TO(T, U, 8)                       \
  GCN_SHUFFLES_TO(T, U, 16)
GCN_OF_INTEGERS(GCN_SHUFFLES) GCN_SHUFFLES(float, uint) GCN_SHUFFLES(double, ulong)
GCN_IF_HALF(GCN_SHUFFLES(half, ushort))

/* Halves in memory: ordinary vectors of floats, rounded to the nearest when they are stored. */
#define GCN_HALVES_IN(SPACE)                                                                       \
  GCN_ACT float2 vload_half2(size_t i, const SPACE half *p) {                                      \
    return (float2)(vload_half(2 * i, p), vload_half(2 * i + 1, p));                               \
  }                                                                                                \
  GCN_ACT float3 vload_half3(size_t i, const SPACE half *p) {                                      \
    return (float3)(vload_half(3 * i, p), vload_half2(0, p + 3 * i + 1));                          \
  }                                                                                                \
  GCN_ACT float4 vload_half4(size_t i, const SPACE half *p) {                                      \
    return (float4)(vload_half2(2 * i, p), vload_half2(2 * i + 1, p));                             \
  }                                                                                                \
  GCN_ACT float8 vload_half8(size_t i, const SPACE half *p) {                                      \
    return (float8)(vload_half4(2 * i, p), vload_half4(2 * i + 1, p));                             \
  }                                                                                                \
  GCN_ACT float16 vload_half16(size_t i, const SPACE half *p) {                                    \
    return (float16)(vload_half8(2 * i, p), vload_half8(2 * i + 1, p));                            \
  }
GCN_HALVES_IN(__constant)
GCN_HALVES_IN(__generic)
GCN_ACT void vstore_half2(float2 v, size_t i, half *p) {
  vstore_half(v.x, 2 * i, p);
  vstore_half(v.y, 2 * i + 1, p);
}
GCN_ACT void vstore_half3(float3 v, size_t i, half *p) {
  vstore_half(v.x, 3 * i, p);
  vstore_half2(v.yz, 0, p + 3 * i + 1);
}
#define GCN_HALVES(N, H)                                                                           \
  GCN_ACT void vstore_half##N(float##N v, size_t i, half *p) {                                     \
    vstore_half##H(v.lo, 2 * i, p);                                                                \
    vstore_half##H(v.hi, 2 * i + 1, p);                                                            \
  }
GCN_HALVES(4, 2) GCN_HALVES(8, 4) GCN_HALVES(16, 8)

/* Copies that all work-items of a group make together; waiting for one is a barrier. */
#define GCN_COPY(T, TO, FROM)                                                                      \
  GCN_ACT event_t async_work_group_copy(TO T *to, const FROM T *from, size_t n, event_t event) {   \
    size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2);                      \
    for (size_t k = get_local_linear_id(); k < n; k += items) to[k] = from[k];                     \
    return event;                                                                                  \
  }
#define GCN_COPIES(T)                                                                              \
  GCN_COPY(T, __local, __global) GCN_COPY(T, __global, __local)                                    \
  GCN_ACT event_t async_work_group_strided_copy(__local T *to, const __global T *from, size_t n,   \
                                                size_t stride, event_t event) {                    \
    size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2);                      \
    for (size_t k = get_local_linear_id(); k < n; k += items) to[k] = from[k * stride];            \
    return event;                                                                                  \
  }                                                                                                \
  GCN_ACT event_t async_work_group_strided_copy(__global T *to, const __local T *from, size_t n,   \
                                                size_t stride, event_t event) {                    \
    size_t items = get_local_size(0) * get_local_size(1) * get_local_size(2);                      \
    for (size_t k = get_local_linear_id(); k < n; k += items) to[k * stride] = from[k];            \
    return event;                                                                                  \
  }                                                                                                \
  GCN_ACT void prefetch(const __global T *p, size_t n) {}
#define GCN_COPIES_OF(T)                                                                           \
  GCN_COPIES(T) GCN_COPIES(T##2) GCN_COPIES(T##3) GCN_COPIES(T##4) GCN_COPIES(T##8)                \
  GCN_COPIES(T##16)
GCN_TYPES(GCN_COPIES_OF)
extern inline __attribute__((gnu_inline, always_inline, overloadable, convergent)) void
wait_group_events(int n, event_t *events) {
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

GCN_IF_HALF(_Pragma("OPENCL EXTENSION cl_khr_fp16 : disable"))
#undef GCN_IF_HALF
#undef GCN_PURE
#undef GCN_ACT
