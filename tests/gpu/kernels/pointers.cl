/* A variable that holds another one's address: the loader has to relocate it. */
__global int values[4] = {10, 20, 30, 40};
__global int *__global place = &values[2];
__kernel void follow(__global int *out) { out[get_global_id(0)] = *place + (int)get_global_id(0); }

/* Arguments of every kind of size, and one that points into LDS. */
typedef struct { int a; double b; char c; } record;
__kernel void arguments(char c, ushort s, float f, double d, float4 v, int3 w, record r,
                        __local float *l, __global ulong *out, __local double *m) {
  uint t = get_local_id(0);
  l[t] = f;
  m[t] = d;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = (ulong)(c + s + (int)(l[t ^ 1] + m[t ^ 1]) + (int)v.w + w.z + r.a + (int)r.b + r.c);
}
