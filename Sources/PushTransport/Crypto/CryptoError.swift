/// What is wrong with a key, a certificate or a signature, in words that a person can act on.
package struct CryptoError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
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
        /// The password fits, but no provider that is installed decrypts what it opens.
        package static let unsupportedEncryption = Code(.unsupportedEncryption)
        /// Encrypted, and no password was given.
        package static let missingPassword = Code(.missingPassword)
        package static let wrongPassword = Code(.wrongPassword)
        /// A key, but not of the kind that is needed here.
        package static let wrongKeyKind = Code(.wrongKeyKind)
        package static let keyMismatch = Code(.keyMismatch)
        /// A certificate was asked for that cannot be made: a malformed name, an end before its begin.
        package static let invalidRequest = Code(.invalidRequest)
        /// OpenSSL failed where it should not; the message has its words.
        package static let failed = Code(.failed)
    }
}
