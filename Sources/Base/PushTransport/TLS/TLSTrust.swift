/// The certificates that are trusted.
package enum TLSTrust: Sendable {
    /// The system's root certificates.
    case system
    /// The system's root certificates and the given ones.
    case systemAnd([PEMSource])
    /// The given certificates only.
    case only([PEMSource])
    /// Certificates that have been read before.
    case shared(TLSRoots)
}
