/// An error of TLS. The message says what to do.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String
    /// The number of the alert, if the peer sent one.
    package let alert: UInt8?

    package init(_ code: Code, message: String, alert: UInt8? = nil) {
        self.code = code
        self.message = message
        self.alert = alert
    }

    package var description: String { message }

    package struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Value: String {
            case unreadableFile, malformedPEM, malformedCertificate, noCertificate, noPrivateKey, missingPassword,
                wrongPassword, keyMismatch, keyTooSmall
            case unsupportedKey, invalidConfiguration
            case certificateExpired, certificateNotYetValid, untrustedIssuer, selfSignedCertificate, hostNameMismatch
            case certificateRejected, noPeerCertificate
            case peerRequiresCertificate, peerRefusedCertificate, peerAlert
            case noCommonVersion, noCommonCipher, noCommonProtocol, notTLS
            case protocolViolation, badRecord, truncated, notEstablished, closed, outOfMemory
        }

        private let value: Value

        private init(_ value: Value) {
            self.value = value
        }

        package var description: String { value.rawValue }

        // Configuration errors.

        /// A file cannot be read. The message contains its name.
        package static let unreadableFile = Code(.unreadableFile)
        /// The input is not valid PEM.
        package static let malformedPEM = Code(.malformedPEM)
        /// A PEM block is labeled as a certificate but contains something else.
        package static let malformedCertificate = Code(.malformedCertificate)
        /// The PEM contains no certificate.
        package static let noCertificate = Code(.noCertificate)
        /// The PEM contains no private key.
        package static let noPrivateKey = Code(.noPrivateKey)
        /// The private key is encrypted and no password was given.
        package static let missingPassword = Code(.missingPassword)
        package static let wrongPassword = Code(.wrongPassword)
        /// The private key belongs to another certificate.
        package static let keyMismatch = Code(.keyMismatch)
        /// The key is an RSA key of less than 2048 bits, or similarly weak.
        package static let keyTooSmall = Code(.keyTooSmall)
        /// TLS does not support this kind of key.
        package static let unsupportedKey = Code(.unsupportedKey)
        /// A setting is invalid: an empty trust list, an unknown cipher, a malformed name.
        package static let invalidConfiguration = Code(.invalidConfiguration)

        // Failed verification of the peer's certificate.

        package static let certificateExpired = Code(.certificateExpired)
        package static let certificateNotYetValid = Code(.certificateNotYetValid)
        package static let untrustedIssuer = Code(.untrustedIssuer)
        package static let selfSignedCertificate = Code(.selfSignedCertificate)
        package static let hostNameMismatch = Code(.hostNameMismatch)
        /// Any other defect of the certificate or its chain: purpose, signature, weak key, revocation.
        package static let certificateRejected = Code(.certificateRejected)
        /// The client sent no certificate although one is required.
        package static let noPeerCertificate = Code(.noPeerCertificate)

        // Errors that the peer reports.

        package static let peerRequiresCertificate = Code(.peerRequiresCertificate)
        package static let peerRefusedCertificate = Code(.peerRefusedCertificate)
        /// Any other alert. `alert` contains its number.
        package static let peerAlert = Code(.peerAlert)

        // No common version, cipher or protocol.

        package static let noCommonVersion = Code(.noCommonVersion)
        package static let noCommonCipher = Code(.noCommonCipher)
        /// The two sides have no common ALPN protocol.
        package static let noCommonProtocol = Code(.noCommonProtocol)
        /// The peer does not speak TLS.
        package static let notTLS = Code(.notTLS)

        // Errors of the connection.

        package static let protocolViolation = Code(.protocolViolation)
        /// A record cannot be decrypted: it was damaged or forged on the way.
        package static let badRecord = Code(.badRecord)
        /// The connection ended without close_notify. The received data may be incomplete.
        package static let truncated = Code(.truncated)
        /// Data was written before the handshake had completed.
        package static let notEstablished = Code(.notEstablished)
        /// Data was written after the end.
        package static let closed = Code(.closed)
        package static let outOfMemory = Code(.outOfMemory)
    }

    /// The way to handle an error.
    package enum Disposition: Sendable {
        /// Retry later on this connection.
        case retrySame
        /// This connection is lost. Retry on another one.
        case retryNewConnection
        /// The error persists until somebody changes the configuration.
        case terminal
    }

    package var disposition: Disposition {
        switch code {
        case .notEstablished:
            .retrySame
        case .protocolViolation, .badRecord, .truncated, .closed, .outOfMemory:
            .retryNewConnection
        case .peerAlert:
            // internal_error, user_canceled, close_notify and bad_record_mac are temporary. Other alerts concern our
            // configuration.
            alert == 80 || alert == 90 || alert == 0 || alert == 20 ? .retryNewConnection : .terminal
        default:
            .terminal
        }
    }
}
