import ReceiptCrypto

/// What is known about one certificate after its responder was asked.
enum RevocationFinding: Hashable, Sendable {
    case good
    case revoked
    /// The responder gave no usable answer, and would not give one to another request.
    case unknown(String)
    /// The responder cannot be reached, or cannot answer at present.
    case unavailable(String)

    init(_ answer: OCSPAnswer) {
        switch answer {
        case .good: self = .good
        case .revoked: self = .revoked
        case .unknown: self = .unknown("the responder does not know the certificate")
        case .tryLater: self = .unavailable("the responder is not able to answer at present")
        case .invalid(let cause): self = .unknown("the response of the responder is not valid: \(cause)")
        }
    }

    /// Returns the conclusion for a chain from the findings about its certificates.
    static func conclusion(
        _ findings: [RevocationFinding], under policy: RevocationPolicy
    ) throws(ReceiptRefusal) -> RevocationStatus {
        if findings.contains(.revoked) {
            throw ReceiptRefusal(
                .certificateRevoked, "A certificate that signed the data was revoked by its authority.")
        }
        for finding in findings {
            guard case .unknown(let cause) = finding else { continue }
            if policy == .require {
                throw ReceiptRefusal(.revocationUnknown, "It is not known whether a certificate was revoked: \(cause).")
            }
            return .unknown(cause)
        }
        for finding in findings {
            guard case .unavailable(let cause) = finding else { continue }
            if policy == .require {
                throw ReceiptRefusal(
                    .revocationUnavailable,
                    "The check of revocation is not possible at present: \(cause); try again.")
            }
            return .unknown(cause)
        }
        return .good
    }
}
