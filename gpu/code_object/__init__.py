"""Code objects: the ELF files in which compilers deliver GPU kernels."""

from gpu.code_object.code_object import CodeObject, Kernel
from gpu.code_object.errors import ArgumentError, CodeObjectError, CompileError
from gpu.code_object.kernarg import DispatchFacts, LocalBytes, PackedArguments, pack_arguments
from gpu.code_object.kernel_descriptor import KernelDescriptor
from gpu.code_object.loader import LoadedCodeObject, LoadedKernel, load, unload
from gpu.code_object.metadata import Argument, KernelMetadata, Metadata, PrintfFormat
from gpu.code_object.targets import DEFAULT_PROCESSOR, RUNNABLE, Target, generation_of

__all__ = [
    "DEFAULT_PROCESSOR",
    "RUNNABLE",
    "Argument",
    "ArgumentError",
    "CodeObject",
    "CodeObjectError",
    "CompileError",
    "DispatchFacts",
    "Kernel",
    "KernelDescriptor",
    "KernelMetadata",
    "LoadedCodeObject",
    "LoadedKernel",
    "LocalBytes",
    "Metadata",
    "PackedArguments",
    "PrintfFormat",
    "Target",
    "generation_of",
    "load",
    "pack_arguments",
    "unload",
]
