// Two numbers of 16 bits in one register, and sums that mix 16 and 32 bits.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable

__kernel void packed_halves(__global half2 *a, __global const half2 *b) {
    size_t i = get_global_id(0);
    half2 x = a[i], y = b[i];
    a[i] = x * y.yx + (half2)(1.0h, -0.5h) - y;
}

__kernel void packed_shorts(__global short2 *a, __global const short2 *b, short scale) {
    size_t i = get_global_id(0);
    short2 x = a[i], y = b[i];
    short2 most = max(x * scale, y.yx);
    a[i] = min(most, (short2)(5000, 7000)) - (y >> (short2)(3, 1));
}

__kernel void packed_counts(__global ushort2 *a, __global const ushort2 *b) {
    size_t i = get_global_id(0);
    ushort2 x = a[i], y = b[i];
    a[i] = (max(x, y) << (ushort2)(2, 5)) + (min(x, y.yx) >> (ushort2)(1, 4)) * y;
}

__kernel void mixed_sums(__global const half2 *a, __global float *sum, __global half *low) {
    size_t i = get_global_id(0);
    half2 x = a[i];
    float s = sum[i];
    s = (float)x.x * (float)x.y + s;
    sum[i] = s;
    low[i] = (half)((float)x.y * 0.5f + s);
}

__kernel void join_halves(__global const short *a, __global const char *b, __global short2 *c) {
    size_t i = get_global_id(0);
    short2 x = {a[2 * i + 1], b[3 * i]};
    c[i] = x + (short2)(b[3 * i + 1], a[2 * i]);
}
