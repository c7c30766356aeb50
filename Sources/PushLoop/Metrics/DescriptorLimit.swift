import Glibc

/// How many descriptors this process may have open.
package enum DescriptorLimit {
    /// No more than this is ever taken: some systems allow a billion.
    package static let most: UInt64 = 1 << 20

    /// Raises the soft limit to the hard one, and returns what holds. A service manager or a shell sets a low soft limit
    /// for the sake of programs that use `select`.
    @discardableResult
    package static func raise() -> UInt64 {
        var limit = rlimit()
        let kind = CInt(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(kind, &limit) == 0 else { return 1024 }
        let wanted = min(UInt64(limit.rlim_max), most)
        let before = UInt64(limit.rlim_cur)
        guard wanted > before else { return before }
        limit.rlim_cur = rlim_t(wanted)
        return unsafe setrlimit(kind, &limit) == 0 ? wanted : before
    }
}
