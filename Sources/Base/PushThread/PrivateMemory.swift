private import CLinux
import Glibc

/// Protection for the memory of a process that holds private keys.
package enum PrivateMemory {
    /// Disables core dumps and prevents other processes of this user from attaching a debugger or reading the memory. A
    /// restriction that the system refuses is skipped silently.
    package static func keep() {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        unsafe _ = setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        _ = CLinux_keep_memory_private()
    }
}
