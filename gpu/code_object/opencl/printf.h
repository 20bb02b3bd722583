/* What the compiler makes printf call: room in the buffer that the runtime gives a kernel. The buffer
   begins with the number of bytes used and the number of bytes that it has, these eight included. */

#if __clang_major__ >= 18
#define GCN_PRINTF_BUFFER 72 /* code object version 5: among the hidden arguments */
#else
#define GCN_PRINTF_BUFFER 24
#endif

__attribute__((weak, used)) __global char *__printf_alloc(uint bytes) {
  __constant char *hidden = (__constant char *)__builtin_amdgcn_implicitarg_ptr();
  __global uint *buffer = (__global uint *)*(__constant ulong *)(hidden + GCN_PRINTF_BUFFER);
  if (!buffer) return 0;
  uint room = buffer[1] - 8;
  uint used = __opencl_atomic_load((__global atomic_uint *)buffer, memory_order_relaxed,
                                   memory_scope_device);
  do {
    if (room < used || room - used < bytes) return 0;
  } while (!__opencl_atomic_compare_exchange_strong(
      (__global atomic_uint *)buffer, &used, used + bytes, memory_order_relaxed,
      memory_order_relaxed, memory_scope_device));
  return (__global char *)buffer + 8 + used;
}
