/// An error about a key, a certificate or a signature. The message says what to do.
package struct CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String

    package init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case unreadableFile, malformedPEM, malformedCertificate, noCertificate, noPrivateKey
            case malformedPKCS12, unsupportedEncryption
            case missingPassword, wrongPassword, wrongKeyKind, keyMismatch
            case invalidRequest, failed
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        package var description: String { value.rawValue }

        package static let unreadableFile = Code(.unreadableFile)
        package static let malformedPEM = Code(.malformedPEM)
        package static let malformedCertificate = Code(.malformedCertificate)
        package static let noCertificate = Code(.noCertificate)
        package static let noPrivateKey = Code(.noPrivateKey)
        package static let malformedPKCS12 = Code(.malformedPKCS12)
        /// The password is correct, but no installed provider supports the encryption of the content.
        package static let unsupportedEncryption = Code(.unsupportedEncryption)
        /// The key is encrypted, and no password was given.
        package static let missingPassword = Code(.missingPassword)
        package static let wrongPassword = Code(.wrongPassword)
        /// The key is valid but of a kind that is not supported here.
        package static let wrongKeyKind = Code(.wrongKeyKind)
        package static let keyMismatch = Code(.keyMismatch)
        /// A requested certificate is invalid: a malformed name, or an end before the begin.
        package static let invalidRequest = Code(.invalidRequest)
        /// OpenSSL failed unexpectedly. The message contains its error text.
        package static let failed = Code(.failed)
    }
}
