/* Which memory a pointer of no declared address space points into. The compiler turns to_global()
   into a call of __to_global(), by that name, which C++ would change. */

#ifdef __OPENCL_CPP_VERSION__
extern "C" {
#endif
#define GCN_CALLED __attribute__((used, always_inline))
GCN_CALLED __global void *__to_global(void *p) {
  bool elsewhere = __builtin_amdgcn_is_shared((const __generic uchar *)p) ||
                   __builtin_amdgcn_is_private((const __generic uchar *)p);
  return elsewhere ? 0 : (__global void *)p;
}
GCN_CALLED __local void *__to_local(void *p) {
  return __builtin_amdgcn_is_shared((const __generic uchar *)p) ? (__local void *)p : 0;
}
GCN_CALLED __private void *__to_private(void *p) {
  return __builtin_amdgcn_is_private((const __generic uchar *)p) ? (__private void *)p : 0;
}
#ifdef __OPENCL_CPP_VERSION__
}
#endif
extern inline __attribute__((gnu_inline, always_inline, overloadable)) cl_mem_fence_flags
get_fence(const void *p) {
  return __builtin_amdgcn_is_shared((const __generic uchar *)p) ? CLK_LOCAL_MEM_FENCE
                                                                : CLK_GLOBAL_MEM_FENCE;
}
#undef GCN_CALLED
