/// The demand for a check of revocation.
public enum RevocationPolicy: String, CaseIterable, Hashable, Sendable {
    /// Data is accepted only if the responders confirm that its certificates are not revoked.
    case require
    /// Data is refused if a certificate is revoked, and accepted with a mark if nothing is known.
    case soft
    /// Nobody is asked.
    case off
}
