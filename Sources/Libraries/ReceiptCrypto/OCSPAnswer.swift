/// The answer of an OCSP responder about one certificate.
package enum OCSPAnswer: Hashable, Sendable {
    case good
    case revoked
    /// The responder does not know the certificate.
    case unknown
    /// The responder is not able to answer at present.
    case tryLater
    /// The response is malformed, out of date, about another certificate, or not signed by the authority.
    case invalid(String)
}
