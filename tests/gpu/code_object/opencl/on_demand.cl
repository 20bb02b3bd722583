/* What headers give only to files that name it: where a pointer points, where global ids begin. */
__kernel void spaces(__global int *g, __global int *out) {
  __local int l[64];
  int own[2];
  uint i = get_global_id(0), t = get_local_id(0);
  own[0] = 3000 + t;
  l[t] = 2000 + t;
  int *p = t % 4 == 0 ? (int *)&g[i] : t % 4 == 1 ? (int *)&l[t] : t % 4 == 2 ? (int *)&own[0] : 0;
  out[3 * i] = (to_global(p) != 0) + 2 * (to_local(p) != 0) + 4 * (to_private(p) != 0);
  out[3 * i + 1] = get_fence(p) == CLK_LOCAL_MEM_FENCE;
  out[3 * i + 2] = to_global(p)    ? *to_global(p)
                   : to_local(p)   ? *to_local(p)
                   : to_private(p) ? *to_private(p)
                                   : -1;
}
__kernel void offsets(__global ulong *out) {
  size_t i = get_global_linear_id();
  for (uint d = 0; d < 4; d++) {
    out[8 * i + d] = get_global_offset(d);
    out[8 * i + 4 + d] = get_global_id(d);
  }
}
