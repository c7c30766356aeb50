/// The reason why certificates do not form a chain that is trusted to sign App Store data.
package enum CertificateFault: Error, Hashable, Sendable {
    /// The certificate of a chain that a fault concerns.
    package enum Position: String, Hashable, Sendable {
        case leaf, intermediate, root
    }

    /// The bytes are not a certificate in DER, or are more than one.
    case malformed(Position, cause: String)
    /// No trusted root has signed the intermediate, or the intermediate has not signed the leaf.
    case untrusted(cause: String)
    /// The certificate does not have the extension that Apple puts into certificates of this purpose.
    case missingPurpose(Position)
    /// The leaf does not have a key on the curve P-256.
    case wrongKey
}
