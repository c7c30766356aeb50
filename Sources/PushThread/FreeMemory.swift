private import CLinux

/// The memory that glibc keeps for later although nothing is in it. By itself it gives back only what lies at the end of a
/// heap, and what thousands of connections have taken and freed lies in between.
package enum FreeMemory {
    /// From now on allocations of a mebibyte and more lie outside the heaps. By default glibc moves that bound up to 32 MiB
    /// with the first large one that is freed, and libzmq asks for as much as a frame says that it will be.
    ///
    /// With a bound that is set, glibc also no longer moves the other one, and would give back the end of a heap at each
    /// 128 KiB that are free: twice the page faults of `serve` under load.
    package static func keepLargeApart() {
        CLinux_map_allocations_from(1 << 20)
        CLinux_keep_free_at_end(8 << 20)
    }

    /// Gives back what is free within the heaps. It holds up allocations for some milliseconds, in large heaps some tens.
    package static func giveBack() {
        CLinux_return_free_memory()
    }
}
