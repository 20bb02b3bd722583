/* Sorting, dynamic programming, stencils, elimination; groups that wait for each other. */
#define WAIT barrier(CLK_LOCAL_MEM_FENCE)
#define WAIT_ALL barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOAD(p) atomic_load_explicit(p, memory_order_acquire, memory_scope_device)
#define STORE(p, x) atomic_store_explicit(p, x, memory_order_release, memory_scope_device)

/* Each group sorts twice its size, every other one downwards. */
__kernel void bitonic(__global ulong *data) {
  __local ulong t[256];
  uint l = get_local_id(0), n = 2 * get_local_size(0), base = get_group_id(0) * n;
  t[l] = data[base + l];
  t[l + n / 2] = data[base + l + n / 2];
  for (uint k = 2; k <= n; k <<= 1)
    for (uint j = k >> 1; j; j >>= 1) {
      WAIT;
      uint a = 2 * j * (l / j) + l % j, b = a + j;
      bool up = ((a & k) == 0) ^ (get_group_id(0) & 1);
      ulong x = t[a], y = t[b];
      if ((x > y) == up) {
        t[a] = y;
        t[b] = x;
      }
    }
  WAIT;
  data[base + l] = t[l];
  data[base + l + n / 2] = t[l + n / 2];
}
/* One group, four bits at a time, as often as it takes to be back in `keys`. */
__kernel void radix(__global uint *keys, __global uint *other, uint n) {
  __local ushort counts[16][128];
  __local uint sums[16];
  uint l = get_local_id(0), w = get_local_size(0), per = (n + w - 1) / w;
  __global uint *from = keys, *to = other;
  for (uint shift = 0; shift < 32; shift += 4) {
    for (uint d = 0; d < 16; d++) counts[d][l] = 0;
    for (uint i = l * per; i < min(n, (l + 1) * per); i++) counts[(from[i] >> shift) & 15][l]++;
    WAIT;
    if (l < 16) {
      uint s = 0;
      for (uint k = 0; k < w; k++) {
        uint c = counts[l][k];
        counts[l][k] = s;
        s += c;
      }
      sums[l] = s;
    }
    WAIT;
    if (l == 0)
      for (uint d = 0, s = 0; d < 16; d++) {
        uint c = sums[d];
        sums[d] = s;
        s += c;
      }
    WAIT;
    for (uint i = l * per; i < min(n, (l + 1) * per); i++) {
      uint x = from[i], d = (x >> shift) & 15;
      to[sums[d] + counts[d][l]++] = x;
    }
    WAIT_ALL;
    __global uint *swapped = from;
    from = to;
    to = swapped;
  }
}
/* Edit distance of n letters by anti-diagonals; offsets below the three rows come and go. */
__kernel void edits(__global const char *a, __global const char *b, __global int *out, int n) {
  __local int d[3][65];
  int l = get_local_id(0), pair = get_group_id(0);
  a += pair * n;
  b += pair * n;
  for (int s = 0; s <= 2 * n; s++) {
    __local int *now = d[s % 3], *one = d[(s + 2) % 3], *two = d[(s + 1) % 3];
    for (int i = l; i <= n; i += get_local_size(0)) {
      int j = s - i;
      if (j >= 0 && j <= n)
        now[i] = i == 0   ? j
                 : j == 0 ? i
                          : min(min(one[i - 1], one[i]) + 1, two[i - 1] + (a[i - 1] != b[j - 1]));
    }
    WAIT;
  }
  if (l == 0) out[pair] = d[2 * n % 3][n];
}
__kernel void turned(__global const float *in, __global float *out) {
  __local float t[64];
  t[get_local_id(0)] = in[get_global_id(0)];
  WAIT;
  out[get_global_id(0)] = t[63 - get_local_id(0)];
}
__kernel void shortest(__global int *d, uint n) {
  for (uint k = 0; k < n; k++) {
    for (uint i = get_local_id(1); i < n; i += get_local_size(1))
      for (uint j = get_local_id(0); j < n; j += get_local_size(0)) {
        int via = d[i * n + k] + d[k * n + j];
        if (i != k && j != k && via < d[i * n + j]) d[i * n + j] = via;
      }
    WAIT_ALL;
  }
}
/* Conway's life on a torus that no group size divides. */
__kernel void life(__global const uchar *in, __global uchar *out, int w, int h) {
  __local uchar t[10][18];
  int lx = get_local_id(0), ly = get_local_id(1), nx = get_local_size(0), ny = get_local_size(1);
  int gx = get_group_id(0) * 16 - 1, gy = get_group_id(1) * 8 - 1, s = 0;
  for (int j = ly; j < ny + 2; j += ny)
    for (int i = lx; i < nx + 2; i += nx) t[j][i] = in[(gy + j + h) % h * w + (gx + i + w) % w];
  WAIT;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++)
      if (i != 1 || j != 1) s += t[ly + j][lx + i];
  out[get_global_id(1) * w + get_global_id(0)] = s == 3 || (s == 2 && t[ly + 1][lx + 1]);
}
__kernel void lu(__global double *a, uint n) {
  for (uint k = 0; k < n; k++) {
    uint first = k + 1 + get_local_id(0), step = get_local_size(0);
    for (uint i = first; i < n; i += step) a[i * n + k] /= a[k * n + k];
    WAIT_ALL;
    for (uint i = first; i < n; i += step)
      for (uint j = k + 1; j < n; j++) a[i * n + j] -= a[i * n + k] * a[k * n + j];
    WAIT_ALL;
  }
}
typedef struct __attribute__((packed)) { uchar t; uint v; ushort k; ulong q; } odd;
__kernel void packed(__global odd *p, __global ulong *out) {
  uint i = get_global_id(0);
  odd x = p[i];
  out[i] = x.v * (ulong)x.k + x.q - x.t;
  p[i].v ^= x.t;
  p[i].q += x.k;
  p[i].k = (ushort)(x.v >> 7);
}
/* Running totals in one pass: each group adds what those before it have published. */
__kernel void lookback(__global const uint *in, __global uint *out, __global atomic_ulong *state,
                       __global atomic_uint *ticket) {
  __local uint t[64], base, me;
  uint l = get_local_id(0), w = get_local_size(0);
  if (l == 0)
    me = atomic_fetch_add_explicit(ticket, 1, memory_order_relaxed, memory_scope_device);
  WAIT;
  uint g = me;
  t[l] = in[g * w + l];
  WAIT;
  for (uint d = 1; d < w; d <<= 1) {
    uint y = l >= d ? t[l - d] : 0;
    WAIT;
    t[l] += y;
    WAIT;
  }
  if (l == 0) {
    uint total = t[w - 1], sum = 0;
    STORE(&state[g], (g ? 1ul : 2ul) << 32 | total);
    for (int k = (int)g - 1; k >= 0;) {
      ulong s = LOAD(&state[k]);
      uint status = s >> 32;
      if (!status) continue;
      sum += (uint)s;
      if (status == 2) break;
      k--;
    }
    if (g) STORE(&state[g], 2ul << 32 | (sum + total));
    base = sum;
  }
  WAIT;
  out[g * w + l] = base + t[l];
}
/* A ring of four places between two groups. */
__kernel void handed_over(__global int *box, __global atomic_uint *put, __global atomic_uint *taken,
                          __global int *out, uint n) {
  uint l = get_local_id(0);
  int s = 0;
  for (uint k = 0; k < n; k++)
    if (get_group_id(0) == 0) {
      if (l == 0) while (k - LOAD(taken) >= 4);
      WAIT_ALL;
      box[(k & 3) * 64 + l] = k * k + l;
      WAIT_ALL;
      if (l == 0) STORE(put, k + 1);
    } else {
      if (l == 0) while (LOAD(put) <= k);
      WAIT_ALL;
      s = s * 5 + box[(k & 3) * 64 + l];
      WAIT_ALL;
      if (l == 0) STORE(taken, k + 1);
    }
  if (get_group_id(0)) out[l] = s;
}
