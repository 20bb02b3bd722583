/* OpenCL's work-item functions and barrier() for kernels compiled without AMD's device libraries.
   All they need is in registers when a wave starts or in its dispatch packet:
   group sizes at +4 (16 bits each), grid sizes at +12 (32 bits each), dimensions at +2. */

typedef __constant uchar *gcn_packet_pointer;
#define GCN_PACKET ((gcn_packet_pointer)__builtin_amdgcn_dispatch_ptr())
#define GCN_INLINE extern inline __attribute__((gnu_inline, always_inline, overloadable, const))

GCN_INLINE size_t get_local_id(uint d) {
  return d == 0   ? __builtin_amdgcn_workitem_id_x()
         : d == 1 ? __builtin_amdgcn_workitem_id_y()
         : d == 2 ? __builtin_amdgcn_workitem_id_z()
                  : 0;
}
GCN_INLINE size_t get_group_id(uint d) {
  return d == 0   ? __builtin_amdgcn_workgroup_id_x()
         : d == 1 ? __builtin_amdgcn_workgroup_id_y()
         : d == 2 ? __builtin_amdgcn_workgroup_id_z()
                  : 0;
}
GCN_INLINE size_t get_global_size(uint d) {
  return d < 3 ? *(__constant uint *)(GCN_PACKET + 12 + 4 * d) : 1;
}
GCN_INLINE size_t get_enqueued_local_size(uint d) {
  return d < 3 ? *(__constant ushort *)(GCN_PACKET + 4 + 2 * d) : 1;
}
GCN_INLINE size_t get_local_size(uint d) { /* the last group of a dimension may be smaller */
  size_t whole = get_enqueued_local_size(d), left = get_global_size(d) - get_group_id(d) * whole;
  return left < whole ? left : whole;
}
/* Where the host lets global ids begin is a hidden argument; few kernels ask for it. */
#ifdef GCN_GLOBAL_OFFSET
#ifndef GCN_CODE_OBJECT_VERSION
#define GCN_CODE_OBJECT_VERSION (__clang_major__ >= 18 ? 5 : 4) /* unless an option says so */
#endif
GCN_INLINE size_t get_global_offset(uint d) {
  return d < 3 ? ((__constant ulong *)((__constant char *)__builtin_amdgcn_implicitarg_ptr() +
                                       (GCN_CODE_OBJECT_VERSION >= 5 ? 40 : 0)))[d]
               : 0;
}
GCN_INLINE size_t get_global_id(uint d) {
  return get_group_id(d) * get_enqueued_local_size(d) + get_local_id(d) + get_global_offset(d);
}
#else
GCN_INLINE size_t get_global_offset(uint d) { return 0; }
GCN_INLINE size_t get_global_id(uint d) {
  return get_group_id(d) * get_enqueued_local_size(d) + get_local_id(d);
}
#endif
GCN_INLINE size_t get_num_groups(uint d) {
  size_t items = get_global_size(d), group = get_enqueued_local_size(d);
  return (items + group - 1) / group;
}
GCN_INLINE uint get_work_dim(void) { return *(__constant ushort *)(GCN_PACKET + 2); }

GCN_INLINE size_t get_local_linear_id(void) {
  return (get_local_id(2) * get_local_size(1) + get_local_id(1)) * get_local_size(0) +
         get_local_id(0);
}
#ifdef GCN_GLOBAL_OFFSET
#define GCN_FROM_ZERO(d) (get_global_id(d) - get_global_offset(d))
#else
#define GCN_FROM_ZERO(d) get_global_id(d)
#endif
GCN_INLINE size_t get_global_linear_id(void) {
  return (GCN_FROM_ZERO(2) * get_global_size(1) + GCN_FROM_ZERO(1)) * get_global_size(0) +
         GCN_FROM_ZERO(0);
}

#define GCN_BARRIER                                                                                \
  extern inline __attribute__((gnu_inline, always_inline, overloadable, convergent)) void
GCN_BARRIER barrier(cl_mem_fence_flags flags) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
GCN_BARRIER work_group_barrier(cl_mem_fence_flags flags) { barrier(flags); }
GCN_BARRIER work_group_barrier(cl_mem_fence_flags flags, memory_scope scope) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
  barrier(flags);
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
}

#undef GCN_INLINE
#undef GCN_BARRIER
