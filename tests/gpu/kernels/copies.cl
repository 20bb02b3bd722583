/* Copies of elements of every size, aligned or not, forwards, strided, in three dimensions. */
#define COPY(name, type)                                                                         \
  __kernel void copy_##name(__global const type *in, __global type *out, uint n) {               \
    uint i = get_global_id(0);                                                                   \
    if (i < n) out[i] = in[i];                                                                   \
  }
COPY(u8, uchar) COPY(u16, ushort) COPY(u32, uint) COPY(u64, ulong)
COPY(u32x3, uint3) COPY(u32x4, uint4) COPY(u8x4, uchar4) COPY(u64x2, ulong2)
typedef struct __attribute__((packed)) { uchar a; uint b; ushort c; } crooked;
__kernel void copy_packed(__global const crooked *in, __global crooked *out) {
  uint i = get_global_id(0);
  crooked v = in[i];
  v.b += v.a;
  out[i] = v;
}
__kernel void gather(__global const uint *in, __global const uint *from, __global uint *out) {
  uint i = get_global_id(0);
  out[i] = in[from[i]];
}
__kernel void scatter(__global const uint *in, __global const uint *to, __global uint *out) {
  uint i = get_global_id(0);
  out[to[i]] = in[i];
}
/* Every built-in that says where a work-item is. */
__kernel void where(__global uint *out) {
  uint x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
  uint w = get_global_size(0), h = get_global_size(1), i = (z * h + y) * w + x;
  __global uint *o = out + 8 * i;
  o[0] = get_local_id(0) | get_local_id(1) << 10 | get_local_id(2) << 20;
  o[1] = get_group_id(0) | get_group_id(1) << 10 | get_group_id(2) << 20;
  o[2] = get_local_size(0) | get_local_size(1) << 10 | get_local_size(2) << 20;
  o[3] = get_num_groups(0) | get_num_groups(1) << 10 | get_num_groups(2) << 20;
  o[4] = w;
  o[5] = h;
  o[6] = get_global_size(2);
  o[7] = get_work_dim();
}
