__kernel void lines(__global int *a) {
  uint i = get_global_id(0);
  a[i % 7] = i;
  a[i] = a[(i + 64) % 128];
  if (i == 300)
    a[100000] = 1;
}
