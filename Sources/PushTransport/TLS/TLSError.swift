/// What went wrong with TLS, in words that a person can act on.
package struct TLSError: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Code
    package let message: String
    /// The alert that the peer sent, if the error is what the peer said.
    package let alert: UInt8?

    package init(_ code: Code, _ message: String, alert: UInt8? = nil) {
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

        // What we were given to work with.

        /// A file cannot be read; the message names it.
        package static let unreadableFile = Code(.unreadableFile)
        /// Bytes that should be PEM and are not.
        package static let malformedPEM = Code(.malformedPEM)
        /// PEM that says it is a certificate and holds something else.
        package static let malformedCertificate = Code(.malformedCertificate)
        /// Well-formed PEM without a certificate in it.
        package static let noCertificate = Code(.noCertificate)
        /// Well-formed PEM without a private key in it.
        package static let noPrivateKey = Code(.noPrivateKey)
        /// The private key is encrypted and no password was given.
        package static let missingPassword = Code(.missingPassword)
        package static let wrongPassword = Code(.wrongPassword)
        /// The private key belongs to another certificate.
        package static let keyMismatch = Code(.keyMismatch)
        /// An RSA key under 2048 bits, or one as weak.
        package static let keyTooSmall = Code(.keyTooSmall)
        /// A kind of key that TLS cannot use.
        package static let unsupportedKey = Code(.unsupportedKey)
        /// A setting that cannot work: an empty trust list, an unknown cipher, a malformed name.
        package static let invalidConfiguration = Code(.invalidConfiguration)

        // What we think of the peer's certificate.

        package static let certificateExpired = Code(.certificateExpired)
        package static let certificateNotYetValid = Code(.certificateNotYetValid)
        package static let untrustedIssuer = Code(.untrustedIssuer)
        package static let selfSignedCertificate = Code(.selfSignedCertificate)
        package static let hostNameMismatch = Code(.hostNameMismatch)
        /// Any other fault of the certificate or its chain: purpose, signature, weak key, revoked.
        package static let certificateRejected = Code(.certificateRejected)
        /// The client sent no certificate though we require one.
        package static let noPeerCertificate = Code(.noPeerCertificate)

        // What the peer thinks of us.

        package static let peerRequiresCertificate = Code(.peerRequiresCertificate)
        package static let peerRefusedCertificate = Code(.peerRefusedCertificate)
        /// Any other alert; `alert` has its number.
        package static let peerAlert = Code(.peerAlert)

        // No common ground.

        package static let noCommonVersion = Code(.noCommonVersion)
        package static let noCommonCipher = Code(.noCommonCipher)
        /// ALPN: the two sides do not speak a common protocol.
        package static let noCommonProtocol = Code(.noCommonProtocol)
        /// The peer does not speak TLS at all.
        package static let notTLS = Code(.notTLS)

        // What happened on the way.

        package static let protocolViolation = Code(.protocolViolation)
        /// A record that does not decrypt: damaged or forged on the way.
        package static let badRecord = Code(.badRecord)
        /// The connection ended without the peer's goodbye: what was received may be incomplete.
        package static let truncated = Code(.truncated)
        /// Written to before the handshake was over.
        package static let notEstablished = Code(.notEstablished)
        /// Written to after the end.
        package static let closed = Code(.closed)
        package static let outOfMemory = Code(.outOfMemory)
    }

    /// What to do about it.
    package enum Disposition: Sendable {
        /// Try again on this connection, later.
        case retrySame
        /// This connection is lost, another may fare better.
        case retryNewConnection
        /// It fails the same way until a person changes something.
        case terminal
    }

    package var disposition: Disposition {
        switch code {
        case .notEstablished:
            .retrySame
        case .protocolViolation, .badRecord, .truncated, .closed, .outOfMemory:
            .retryNewConnection
        case .peerAlert:
            // internal_error, user_canceled and close_notify speak of the moment; the rest of what we are.
            alert == 80 || alert == 90 || alert == 0 || alert == 20 ? .retryNewConnection : .terminal
        default:
            .terminal
        }
    }
}
