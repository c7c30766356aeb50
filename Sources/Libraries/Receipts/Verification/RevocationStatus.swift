/// The knowledge about the revocation of the certificates that signed some data.
public enum RevocationStatus: Hashable, Sendable {
    /// Nobody has asked: the data was verified offline.
    case notChecked
    /// The responders of the authority confirmed that the certificates are not revoked.
    case good
    /// The responders gave no answer that can be used; the text says why. The data is accepted nevertheless, because
    /// the policy is ``RevocationPolicy/soft``.
    case unknown(String)
}
