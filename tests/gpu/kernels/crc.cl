/* CRC-32 (polynomial 0xEDB88320): one message of `size` bytes a work-item. */
__kernel void crc_bits(__global const uchar *data, __global uint *out, uint size, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  uint crc = ~0u;
  for (uint k = 0; k < size; k++) {
    crc ^= data[i * size + k];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  out[i] = ~crc;
}
/* By a table that each group builds in LDS. */
__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
crc_table(__global const uchar *data, __global uint *out, uint size, uint n) {
  __local uint table[256];
  uint entry = get_local_id(0), i = get_global_id(0);
  for (int bit = 0; bit < 8; bit++) entry = entry >> 1 ^ (-(entry & 1) & 0xEDB88320u);
  table[get_local_id(0)] = entry;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i >= n) return;
  uint crc = ~0u;
  for (uint k = 0; k < size; k++) crc = table[(crc ^ data[i * size + k]) & 255] ^ crc >> 8;
  out[i] = ~crc;
}
