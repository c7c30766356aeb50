import Glibc

/// The limit of open descriptors of this process.
package enum DescriptorLimit {
    /// The upper bound of the limit. Some systems allow a billion.
    package static let maxCount: UInt64 = 1 << 20

    /// Raises the soft limit to the hard limit, but at most to ``maxCount``, and returns the limit in effect. Service
    /// managers and shells set a low soft limit because of programs that use `select`.
    @discardableResult
    package static func raise() -> UInt64 {
        var limit = rlimit()
        let kind = CInt(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(kind, &limit) == 0 else { return 1024 }
        let wanted = min(UInt64(limit.rlim_max), maxCount)
        let before = UInt64(limit.rlim_cur)
        guard wanted > before else { return before }
        limit.rlim_cur = rlim_t(wanted)
        return unsafe setrlimit(kind, &limit) == 0 ? wanted : before
    }
}
