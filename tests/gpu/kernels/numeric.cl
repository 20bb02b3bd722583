/* Numeric programs: bodies, stencils, transforms, clusters, filters. */
__kernel void nbody(__global const float4 *body, __global float4 *force, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float4 own = body[i];
  float fx = 0, fy = 0, fz = 0;
  for (uint j = 0; j < n; j++) {
    float4 other = body[j];
    float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    float r2 = dx * dx + dy * dy + dz * dz + 0.01f;
    float s = other.w / (r2 * __builtin_sqrtf(r2));
    fx += dx * s;
    fy += dy * s;
    fz += dz * s;
  }
  force[i] = (float4)(fx, fy, fz, 0);
}
__kernel void stencil(__global const float *in, __global float *out, uint w, uint h) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  float c = in[y * w + x];
  if (x > 0 && y > 0 && x + 1 < w && y + 1 < h)
    c = 0.5f * c + 0.125f * (in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] +
                             in[(y + 1) * w + x]);
  out[y * w + x] = c;
}
__kernel void sobel(__global const uchar *in, __global uchar *out, int w, int h) {
  int x = get_global_id(0), y = get_global_id(1);
  if (x >= w || y >= h) return;
  int gx = 0, gy = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++) {
      int sx = x + dx < 0 ? 0 : x + dx < w ? x + dx : w - 1;
      int sy = y + dy < 0 ? 0 : y + dy < h ? y + dy : h - 1, p = in[sy * w + sx];
      gx += p * dx * (dy == 0 ? 2 : 1);
      gy += p * dy * (dx == 0 ? 2 : 1);
    }
  int g = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
  out[y * w + x] = g > 255 ? 255 : g;
}
__kernel void xorshift(__global ulong *state, __global uint *out, uint rounds) {
  uint i = get_global_id(0);
  ulong s = state[i];
  uint sum = 0;
  for (uint k = 0; k < rounds; k++) {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    sum += (uint)(s * 0x2545F4914F6CDD1Dul >> 32);
  }
  state[i] = s;
  out[i] = sum;
}
/* The nearest of k centres, and sums for the next ones by atomics. */
__kernel void kmeans(__global const float2 *point, __global const float2 *centre, uint k,
                     __global uint *nearest, __global atomic_int *count, __global atomic_int *sum,
                     uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float2 p = point[i];
  uint best = 0;
  float least = 1e30f;
  for (uint c = 0; c < k; c++) {
    float dx = p.x - centre[c].x, dy = p.y - centre[c].y, d = dx * dx + dy * dy;
    if (d < least) {
      least = d;
      best = c;
    }
  }
  nearest[i] = best;
  __opencl_atomic_fetch_add(&count[best], 1, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
  __opencl_atomic_fetch_add(&sum[2 * best], (int)(p.x * 256.0f), __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
  __opencl_atomic_fetch_add(&sum[2 * best + 1], (int)(p.y * 256.0f), __ATOMIC_RELAXED,
                            __OPENCL_MEMORY_SCOPE_DEVICE);
}
__kernel void walsh_step(__global float *data, uint step) {
  uint t = get_global_id(0), low = t / step * 2 * step + t % step;
  float a = data[low], b = data[low + step];
  data[low] = a + b;
  data[low + step] = a - b;
}
__kernel void floyd_step(__global uint *distance, uint n, uint k) {
  uint x = get_global_id(0), y = get_global_id(1);
  if (x >= n || y >= n) return;
  uint through = distance[y * n + k] + distance[k * n + x];
  if (through < distance[y * n + x]) distance[y * n + x] = through;
}
__kernel void fir(__global const float *in, __global const float *taps, __global float *out,
                  uint count, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  float sum = 0;
  for (uint k = 0; k < count && k <= i; k++) sum += taps[k] * in[i - k];
  out[i] = sum;
}
__kernel void relu(__global const float *in, __global float *out, uint n) {
  for (uint i = get_global_id(0); i < n; i += get_global_size(0)) out[i] = in[i] > 0 ? in[i] : 0;
}
/* Doubles: a polynomial by Horner's rule, and a dot product through LDS given by the caller. */
__kernel void horner(__global const double *x, __global const double *coefficient, uint count,
                     __global double *out) {
  uint i = get_global_id(0);
  double sum = 0;
  for (uint k = 0; k < count; k++) sum = sum * x[i] + coefficient[k];
  out[i] = sum;
}
__kernel void dot_groups(__global const double *a, __global const double *b, __global double *out,
                         __local double *part, uint n) {
  uint t = get_local_id(0), i = get_global_id(0);
  part[t] = i < n ? a[i] * b[i] : 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = get_local_size(0) / 2; d > 0; d >>= 1) {
    if (t < d) part[t] += part[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = part[0];
}
