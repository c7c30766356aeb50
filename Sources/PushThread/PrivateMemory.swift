private import CLinux
import Glibc

/// The memory of a process that holds private keys.
package enum PrivateMemory {
    /// From now on neither a crash nor another process of this user writes this process's memory anywhere: no core dumps,
    /// no debugger. What the system refuses of it stays as it was.
    package static func keep() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = CLinux_keep_memory_private()
    }
}
