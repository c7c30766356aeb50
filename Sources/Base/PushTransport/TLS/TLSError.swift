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

    package enum Code: Hashable, Sendable {
        // Configuration errors.

        /// A file cannot be read. The message contains its name.
        case unreadableFile
        /// The input is not valid PEM.
        case malformedPEM
        /// A PEM block is labeled as a certificate but contains something else.
        case malformedCertificate
        /// The PEM contains no certificate.
        case noCertificate
        /// The PEM contains no private key.
        case noPrivateKey
        /// The private key is encrypted and no password was given.
        case missingPassword
        case wrongPassword
        /// The private key belongs to another certificate.
        case keyMismatch
        /// The key is an RSA key of less than 2048 bits, or similarly weak.
        case keyTooSmall
        /// TLS does not support this kind of key.
        case unsupportedKey
        /// A setting is invalid: an empty trust list, an unknown cipher, a malformed name.
        case invalidConfiguration

        // Failed verification of the peer's certificate.

        case certificateExpired, certificateNotYetValid, untrustedIssuer, selfSignedCertificate, hostNameMismatch
        /// Any other defect of the certificate or its chain: purpose, signature, weak key, revocation.
        case certificateRejected
        /// The client sent no certificate although one is required.
        case noPeerCertificate

        // Errors that the peer reports.

        case peerRequiresCertificate, peerRefusedCertificate
        /// Any other alert. `alert` contains its number.
        case peerAlert

        // No common version, cipher or protocol.

        case noCommonVersion, noCommonCipher
        /// The two sides have no common ALPN protocol.
        case noCommonProtocol
        /// The peer does not speak TLS.
        case notTLS

        // Errors of the connection.

        case protocolViolation
        /// A record cannot be decrypted: it was damaged or forged on the way.
        case badRecord
        /// The connection ended without close_notify. The received data may be incomplete.
        case truncated
        /// Data was written before the handshake had completed.
        case notEstablished
        /// Data was written after the end.
        case closed
        case outOfMemory
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
