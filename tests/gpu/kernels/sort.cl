/* Bitonic sorting networks: in LDS, and one step at a time in global memory. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void bitonic_local(__global int *data) {
  __local int a[256];
  uint t = get_local_id(0), base = get_group_id(0) * 256;
  a[t] = data[base + t];
  a[t + 128] = data[base + t + 128];
  for (uint k = 2; k <= 256; k <<= 1)
    for (uint j = k >> 1; j > 0; j >>= 1) {
      barrier(CLK_LOCAL_MEM_FENCE);
      uint low = (t & ~(j - 1)) << 1 | (t & (j - 1)), high = low | j;
      int x = a[low], y = a[high];
      if ((x > y) == ((low & k) == 0)) {
        a[low] = y;
        a[high] = x;
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  data[base + t] = a[t];
  data[base + t + 128] = a[t + 128];
}
__kernel void bitonic_step(__global int *data, uint k, uint j) {
  uint t = get_global_id(0), low = (t & ~(j - 1)) << 1 | (t & (j - 1)), high = low | j;
  int x = data[low], y = data[high];
  if ((x > y) == ((low & k) == 0)) {
    data[low] = y;
    data[high] = x;
  }
}
/* Odd-even transposition with 64-bit keys: one group, two elements a work-item. */
__kernel void odd_even(__global ulong *data, uint n) {
  uint t = get_local_id(0);
  for (uint round = 0; round < n; round++) {
    uint i = 2 * t + (round & 1);
    if (i + 1 < n && data[i] > data[i + 1]) {
      ulong x = data[i];
      data[i] = data[i + 1];
      data[i + 1] = x;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
  }
}
