/* Prefix sums: each group scans 256 elements in LDS, the totals are scanned in the same way. */
#define N 256
__kernel __attribute__((reqd_work_group_size(N, 1, 1))) void
scan_groups(__global const uint *in, __global uint *out, __global uint *totals, uint n) {
  __local uint a[2][N];
  uint t = get_local_id(0), i = get_global_id(0), from = 0;
  uint own = i < n ? in[i] : 0;
  a[0][t] = own;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = 1; d < N; d <<= 1) {
    a[1 - from][t] = a[from][t] + (t >= d ? a[from][t - d] : 0);
    from = 1 - from;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) out[i] = a[from][t] - own;
  if (t == N - 1) totals[get_group_id(0)] = a[from][t];
}
__kernel void add_totals(__global uint *out, __global const uint *totals, uint n) {
  uint i = get_global_id(0);
  if (i < n) out[i] += totals[i / N];
}
/* The same up and down a tree (two elements a work-item). */
__kernel __attribute__((reqd_work_group_size(N / 2, 1, 1))) void
scan_tree(__global const uint *in, __global uint *out) {
  __local uint a[N];
  uint t = get_local_id(0), base = get_group_id(0) * N;
  a[2 * t] = in[base + 2 * t];
  a[2 * t + 1] = in[base + 2 * t + 1];
  uint offset = 1;
  for (uint d = N / 2; d > 0; d >>= 1, offset *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < d) a[offset * (2 * t + 2) - 1] += a[offset * (2 * t + 1) - 1];
  }
  if (t == 0) a[N - 1] = 0;
  for (uint d = 1; d < N; d *= 2) {
    offset >>= 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t < d) {
      uint left = offset * (2 * t + 1) - 1, right = offset * (2 * t + 2) - 1, v = a[left];
      a[left] = a[right];
      a[right] += v;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  out[base + 2 * t] = a[2 * t];
  out[base + 2 * t + 1] = a[2 * t + 1];
}
