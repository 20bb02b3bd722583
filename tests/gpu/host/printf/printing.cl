__kernel void hello(__global const int *x, float f) {
  int i = get_global_id(0);
  printf("i=%d x=%5d f=%.2f s=%s\n", i, x[i], f, "abc");
  if (i == 1) printf("one: %v4d|%lx|%c|%%\n", (int4)(1, -2, 3, 4), 0x123456789abcUL, 'z');
  if (i == 2) printf("two\n");
}

/* Prints and then goes where nothing is. */
__kernel void last_words(__global int *x, int n) {
  printf("before %d\n", n);
  if (n) *(volatile __global int *)(x + (1L << 40)) = 1;
}

__kernel void chatter(int n) {
  for (int i = 0; i < n; i++) printf("%d.%ld\n", i, (long)get_global_id(0));
}
