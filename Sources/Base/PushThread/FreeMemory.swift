private import CLinux

/// Control of the free memory that glibc keeps in its heaps. By default glibc returns only the free memory at the end
/// of a heap, but the memory that thousands of connections allocate and free is spread over the whole heap.
package enum FreeMemory {
    /// Makes glibc map allocations of 1 MiB and more outside of the heaps. By default glibc raises that threshold up to
    /// 32 MiB when it frees the first large allocation, and libzmq allocates as much as the header of a frame
    /// announces.
    ///
    /// Setting the threshold also disables glibc's dynamic trim threshold. glibc would then trim the heap at every 128
    /// KiB of free memory at its end, which doubled the page faults of `serve` under load. The trim threshold is
    /// therefore set as well.
    package static func keepLargeApart() {
        CLinux_map_allocations_from(1 << 20)
        CLinux_keep_free_at_end(8 << 20)
    }

    /// Returns free memory inside the heaps to the system. Allocations block for some milliseconds, with large heaps
    /// for tens of milliseconds.
    package static func giveBack() {
        CLinux_return_free_memory()
    }
}
