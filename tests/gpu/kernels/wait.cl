/* Kernels that never end, each in its own way. */
__kernel void spin_forever(__global atomic_int *flag) {
  while (__opencl_atomic_load(flag, __ATOMIC_ACQUIRE, __OPENCL_MEMORY_SCOPE_DEVICE) == 0)
    ;
}
__kernel void loop_forever(__global int *out) {
  for (volatile int x = 0;;) x++;
}
/* Half of the waves wait at a barrier that the others never reach, because they wait themselves. */
__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void
lost_barrier(__global atomic_int *flag, __global int *out) {
  if (get_local_id(0) < 64)
    while (__opencl_atomic_load(flag, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE) == 0)
      __builtin_amdgcn_s_sleep(2);
  __builtin_amdgcn_s_barrier();
  out[get_global_id(0)] = 1;
}
