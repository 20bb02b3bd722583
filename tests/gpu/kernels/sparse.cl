/* Sparse matrix (rows compressed) times vector, and breadth-first search on the same form. */
__kernel void spmv_row(__global const uint *start, __global const uint *column,
                       __global const float *value, __global const float *x, __global float *y,
                       uint rows) {
  uint row = get_global_id(0);
  if (row >= rows) return;
  float sum = 0;
  for (uint k = start[row]; k < start[row + 1]; k++) sum += value[k] * x[column[k]];
  y[row] = sum;
}
/* One group of 64 a row, summed up in LDS. */
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void
spmv_wave(__global const uint *start, __global const uint *column, __global const float *value,
          __global const float *x, __global float *y) {
  __local float part[64];
  uint row = get_group_id(0), t = get_local_id(0);
  float sum = 0;
  for (uint k = start[row] + t; k < start[row + 1]; k += 64) sum += value[k] * x[column[k]];
  part[t] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint d = 32; d > 0; d >>= 1) {
    if (t < d) part[t] += part[t + d];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) y[row] = part[0];
}
/* One level by every vertex; neighbours race to write the same number. */
__kernel void bfs_level(__global const uint *start, __global const uint *edge, __global int *level,
                        __global int *again, int now, uint n) {
  uint v = get_global_id(0);
  if (v >= n || level[v] != now) return;
  for (uint k = start[v]; k < start[v + 1]; k++)
    if (level[edge[k]] < 0) {
      level[edge[k]] = now + 1;
      *again = 1;
    }
}
/* One level by a queue: a vertex is claimed by compare-and-swap. */
__kernel void bfs_queue(__global const uint *start, __global const uint *edge,
                        __global atomic_int *level, __global const uint *from, uint count,
                        __global uint *to, __global atomic_uint *tail, int now) {
  uint i = get_global_id(0);
  if (i >= count) return;
  uint v = from[i];
  for (uint k = start[v]; k < start[v + 1]; k++) {
    int none = -1;
    if (__opencl_atomic_compare_exchange_strong(&level[edge[k]], &none, now + 1, __ATOMIC_RELAXED,
                                                __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE))
      to[__opencl_atomic_fetch_add(tail, 1u, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE)] =
          edge[k];
  }
}
