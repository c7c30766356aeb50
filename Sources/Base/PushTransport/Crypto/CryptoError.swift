/// An error about a key, a certificate or a signature. The message says what to do.
package struct CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String

    package init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    package enum Code: Hashable, Sendable {
        case unreadableFile, malformedPEM, malformedCertificate, noCertificate, noPrivateKey, malformedPKCS12
        /// The password is correct, but no installed provider supports the encryption of the content.
        case unsupportedEncryption
        /// The key is encrypted, and no password was given.
        case missingPassword
        case wrongPassword
        /// The key is valid but of a kind that is not supported here.
        case wrongKeyKind
        case keyMismatch
        /// A requested certificate is invalid: a malformed name, or an end before the begin.
        case invalidRequest
        /// OpenSSL failed unexpectedly. The message contains its error text.
        case failed
    }
}
