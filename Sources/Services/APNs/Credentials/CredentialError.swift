import PushTransport

/// An error of a credential. The message describes what is wrong, where, and what to do.
package struct CredentialError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String

    package init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }

    package enum Code: String, Sendable, CustomStringConvertible {
        case unreadableFile = "unreadable_file"
        case missingPassword = "missing_password"
        case wrongPassword = "wrong_password"
        /// The file that should contain the password contains something else.
        case badPasswordFile = "bad_password_file"
        /// The key is not on the curve P-256, which provider keys need.
        case wrongKeyKind = "wrong_key_kind"
        /// The file is well-formed but contains no private key.
        case noPrivateKey = "no_private_key"
        case noCertificate = "no_certificate"
        /// The file is neither PEM nor PKCS#12, or it is damaged.
        case malformed
        case unsupportedEncryption = "unsupported_encryption"
        /// The private key does not belong to the certificate.
        case keyMismatch = "key_mismatch"
        /// TLS does not accept a key of this kind or size.
        case weakKey = "weak_key"
        case expired
        case notYetValid = "not_yet_valid"
        case badKeyID = "bad_key_id"
        case badTeamID = "bad_team_id"
        /// The certificate does not cover the topic.
        case wrongTopic = "wrong_topic"
        /// The certificate is for the other environment.
        case wrongEnvironment = "wrong_environment"
        /// Certificates cannot send this push type.
        case needsProviderToken = "needs_provider_token"
        /// An unexpected error of OpenSSL.
        case failed

        package var description: String { rawValue }
    }
}

extension CredentialError {
    init(_ error: CryptoError) {
        let code: Code =
            switch error.code {
            case .unreadableFile: .unreadableFile
            case .missingPassword: .missingPassword
            case .wrongPassword: .wrongPassword
            case .wrongKeyKind: .wrongKeyKind
            case .noPrivateKey: .noPrivateKey
            case .noCertificate: .noCertificate
            case .malformedPEM, .malformedCertificate, .malformedPKCS12: .malformed
            case .unsupportedEncryption: .unsupportedEncryption
            case .keyMismatch: .keyMismatch
            default: .failed
            }
        self.init(advising: code, message: error.message)
    }

    init(_ error: TLSError) {
        let code: Code =
            switch error.code {
            case .unreadableFile: .unreadableFile
            case .missingPassword: .missingPassword
            case .wrongPassword: .wrongPassword
            case .noPrivateKey: .noPrivateKey
            case .noCertificate: .noCertificate
            case .malformedPEM, .malformedCertificate: .malformed
            case .keyMismatch: .keyMismatch
            case .keyTooSmall: .weakKey
            default: .failed
            }
        self.init(advising: code, message: error.message)
    }

    /// Converts any error that was thrown while reading keys and certificates.
    init(reading error: any Error) {
        switch error {
        case let error as CredentialError: self = error
        case let error as CryptoError: self.init(error)
        case let error as TLSError: self.init(error)
        default: self.init(.failed, message: "\(error)")
        }
    }

    private init(advising code: Code, message: String) {
        let advice: String? =
            switch code {
            case .unreadableFile: "check the path and the file's permissions"
            case .missingPassword: "write the password into a file and set it as the password file"
            case .wrongPassword: "check the password"
            case .wrongKeyKind: "use the .p8 file that Apple's developer site gave you for this key"
            case .noPrivateKey: "give the file that contains the private key"
            case .noCertificate: "give the file that contains the certificate"
            case .malformed: "give a key or a certificate in PEM, such as a .p8 file, or a PKCS#12 file"
            case .keyMismatch: "give the private key with which the certificate was requested"
            case .weakKey: "request a new certificate with a stronger key"
            default: nil
            }
        self.init(code, message: advice.map { "\(message); \($0)" } ?? message)
    }
}

/// Returns text from an outside source fit for one line: control characters are replaced, and the length is limited.
func shown(_ text: some StringProtocol, limit: Int = 120) -> String {
    var result = ""
    for scalar in text.unicodeScalars.prefix(limit) {
        let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
        result.unicodeScalars.append(isControl ? "?" : scalar)
    }
    return text.unicodeScalars.count > limit ? result + "…" : result
}
