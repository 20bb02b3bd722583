/* Control flow that lanes of one wave take differently. */
__kernel void if_chain(__global const int *in, __global int *out) {
  uint i = get_global_id(0);
  int x = in[i], y;
  if (x < 10)
    y = x * 3;
  else if (x < 20) {
    if (x & 1)
      y = x - 100;
    else if (x & 2)
      y = x + 1000;
    else
      y = -x;
  } else if (x < 40)
    y = x * x;
  else
    y = ~x;
  out[i] = y;
}
__kernel void collatz(__global const uint *in, __global uint *steps, uint n) {
  uint i = get_global_id(0);
  if (i >= n) return;
  ulong x = in[i];
  uint count = 0;
  while (x > 1) {
    x = x & 1 ? 3 * x + 1 : x >> 1;
    count++;
  }
  steps[i] = count;
}
/* A small interpreter: a switch within a loop, with break, continue and falling through. */
__kernel void switch_loop(__global const uchar *program, __global int *out, uint length) {
  uint i = get_global_id(0);
  int a = (int)i, b = 1;
  for (uint at = 0; at < length; at++) {
    switch ((program[at] + i) % 7) {
    case 0: a += b; break;
    case 1: a ^= b << 3; /* falls through */
    case 2: b += a & 15; break;
    case 3:
      if (a & 1) continue;
      a >>= 1;
      break;
    case 4: b = -b; break;
    case 5:
      for (int k = 0; k < (a & 3); k++) b += k;
      break;
    default: a -= 7;
    }
    a += (int)at;
  }
  out[i] = a * 31 + b;
}
__kernel void gcd(__global const uint *a, __global const uint *b, __global uint *out) {
  uint i = get_global_id(0), x = a[i], y = b[i];
  while (y) {
    uint rest = x % y;
    x = y;
    y = rest;
  }
  out[i] = x;
}
__kernel void mandelbrot(__global uint *out, uint width, uint height, uint most) {
  uint px = get_global_id(0), py = get_global_id(1);
  if (px >= width || py >= height) return;
  float cx = (float)px * 0.0625f - 2.0f, cy = (float)py * 0.0625f - 1.0f, x = 0, y = 0;
  uint n = 0;
  while (n < most && x * x + y * y < 4.0f) {
    float next = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = next;
    n++;
  }
  out[py * width + px] = n;
}
/* Lanes leave at different places; the others continue to a barrier-free tail. */
__kernel void early_return(__global const int *in, __global int *out, uint n) {
  uint i = get_global_id(0);
  out[i] = -1;
  if (i >= n) return;
  int x = in[i];
  if (x < 0) return;
  out[i] = 0;
  for (int k = 0; k < 20; k++) {
    if (x == 1) {
      out[i] = 1000 + k;
      return;
    }
    if (x % 3 == 0) {
      out[i] = -k;
      return;
    }
    x = x * 5 + 1 & 0xFFF;
  }
  out[i] = x;
}
/* Loops within loops, left by a flag; do-while; a loop whose count differs by lane. */
__kernel void nested(__global const int *in, __global int *out) {
  uint i = get_global_id(0);
  int x = in[i], total = 0, found = 0;
  for (int a = 1; a < 12 && !found; a++)
    for (int b = a; b < 12; b++) {
      if (a * b == (x & 63)) {
        found = a * 100 + b;
        break;
      }
      total += a ^ b;
    }
  do {
    total += x & 3;
    x >>= 1;
  } while (x > 0);
  out[i] = found * 10000 + total;
}
