private import COpenSSL
import PushLoop

extension TLSError {
    /// Creates an error from a failed verification of the peer's chain.
    init(
        _ failure: TLSPipe.VerifyFailure, peer: String, expectedName: String?, lacksSystemRoots: Bool
    ) {
        let reason = unsafe String(cString: X509_verify_cert_error_string(Int(failure.code)))
        guard let certificate = failure.certificate else {
            self.init(.certificateRejected, message: "the certificate of \(peer) was rejected: \(reason)")
            return
        }
        let info = CertificateInfo(certificate)
        let subject = info.subject.isEmpty ? "without a subject" : info.subject
        let remedy =
            lacksSystemRoots
            ? "this system has no trusted root certificates: install the package ca-certificates"
            : "to trust it, add its certificate to the trusted certificates of this connection"
        switch failure.code {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            self.init(
                .certificateExpired, message: "\(peer): certificate \(subject) expired on \(info.notAfter.utcText)")
        case X509_V_ERR_CERT_NOT_YET_VALID:
            self.init(
                .certificateNotYetValid,
                message: "\(peer): certificate \(subject) is not valid before \(info.notBefore.utcText); is this "
                    + "machine's clock right?")
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            self.init(
                .untrustedIssuer,
                message: "\(peer): issuer \(info.issuer) of certificate \(subject) is not trusted; \(remedy)")
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
            self.init(
                .untrustedIssuer,
                message: "\(peer): issuer \(subject), the root that it sent, is not trusted; \(remedy)")
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            self.init(
                .selfSignedCertificate, message: "\(peer): self-signed certificate \(subject) is not trusted; \(remedy)"
            )
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            let names = (info.dnsNames + info.ipAddresses).prefix(10).map { printable($0, limit: 100) }
            let found =
                names.isEmpty ? "no host name (subject \(subject))" : "it is for \(names.joined(separator: ", "))"
            self.init(
                .hostNameMismatch,
                message: "the certificate of the server is not for \(printable(expectedName ?? "")): \(found)")
        default:
            self.init(
                .certificateRejected, message: "\(peer): certificate \(subject) was rejected: \(printable(reason))")
        }
    }

    /// Creates an error from OpenSSL's error queue.
    init(_ errors: OpenSSLErrors, peer: String, isHandshaking: Bool, isServer: Bool, firstByte: UInt8?) {
        guard let reason = errors.tlsReason else {
            self.init(.protocolViolation, message: "TLS with \(peer) failed: \(errors.text)")
            return
        }
        if (SSL_AD_REASON_OFFSET..<SSL_AD_REASON_OFFSET + 256).contains(reason) {
            self.init(alert: UInt8(reason - SSL_AD_REASON_OFFSET), peer: peer)
            return
        }
        // A handshake starts with a handshake record or an alert. Any other first byte belongs to another protocol.
        if isHandshaking, let firstByte, firstByte != 0x16, firstByte != 0x15 {
            // A response that starts with "H" is HTTP. OpenSSL itself detects HTTP only in requests.
            let isHTTP =
                reason == SSL_R_HTTP_REQUEST || reason == SSL_R_HTTPS_PROXY_REQUEST
                || !isServer && firstByte == UInt8(ascii: "H")
            self.init(
                .notTLS,
                message: isServer
                    ? "\(peer) does not speak TLS on this TLS port\(isHTTP ? ", but plain HTTP" : "")"
                    : "\(peer) does not speak TLS on this port\(isHTTP ? ", but plain HTTP" : "")")
            return
        }
        switch reason {
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_VERSION_TOO_LOW, SSL_R_VERSION_TOO_HIGH, SSL_R_WRONG_SSL_VERSION,
            SSL_R_NO_PROTOCOLS_AVAILABLE, SSL_R_UNKNOWN_PROTOCOL:
            self.init(
                .noCommonVersion, message: "\(peer) supports no TLS version allowed here (1.2 or newer): \(errors.text)"
            )
        case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS,
            SSL_R_NO_SUITABLE_GROUPS, SSL_R_NO_SHARED_GROUPS, SSL_R_NO_CIPHERS_AVAILABLE, SSL_R_WRONG_CIPHER_RETURNED:
            self.init(.noCommonCipher, message: "no common cipher or key type with \(peer): \(errors.text)")
        case SSL_R_NO_APPLICATION_PROTOCOL:
            self.init(.noCommonProtocol, message: "\(peer) offers none of our protocols by ALPN")
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
            self.init(.noPeerCertificate, message: "\(peer) sent no certificate, but one is required")
        case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, SSL_R_DECRYPTION_FAILED, SSL_R_BAD_RECORD_TYPE:
            self.init(
                .badRecord,
                message: "cannot decrypt a TLS record from \(peer), it was damaged on the way: \(errors.text)")
        case SSL_R_UNEXPECTED_EOF_WHILE_READING:
            self.init(
                .truncated, message: "\(peer) closed the connection without a TLS close_notify: data may be missing")
        default:
            self.init(.protocolViolation, message: "\(peer) violated the TLS protocol: \(errors.text)")
        }
    }

    /// Creates an error from the alert with which the peer ended the connection.
    init(alert: UInt8, peer: String) {
        let (code, message): (Code, String) =
            switch CInt(alert) {
            case SSL_AD_CERTIFICATE_REQUIRED:
                (.peerRequiresCertificate, "\(peer) requires a client certificate and got none")
            case SSL_AD_BAD_CERTIFICATE:
                (.peerRefusedCertificate, "\(peer) rejected our certificate as bad (alert bad_certificate)")
            case SSL_AD_UNSUPPORTED_CERTIFICATE:
                (.peerRefusedCertificate, "\(peer) does not support our kind of certificate")
            case SSL_AD_CERTIFICATE_REVOKED:
                (.peerRefusedCertificate, "\(peer) rejected our certificate as revoked")
            case SSL_AD_CERTIFICATE_EXPIRED:
                (.peerRefusedCertificate, "\(peer) rejected our certificate as expired")
            case SSL_AD_CERTIFICATE_UNKNOWN:
                (.peerRefusedCertificate, "\(peer) rejected our certificate (alert certificate_unknown)")
            case SSL_AD_UNKNOWN_CA:
                (
                    .peerRefusedCertificate, "\(peer) does not trust the issuer of our certificate (alert unknown_ca)"
                )
            case SSL_AD_ACCESS_DENIED:
                (.peerRefusedCertificate, "\(peer) denied access to our certificate (alert access_denied)")
            case SSL_AD_PROTOCOL_VERSION:
                (.noCommonVersion, "\(peer) rejected the TLS versions that we offer (alert protocol_version)")
            case SSL_AD_HANDSHAKE_FAILURE:
                (
                    .noCommonCipher,
                    "\(peer) found no common cipher, or requires a client certificate (alert handshake_failure)"
                )
            case SSL_AD_INSUFFICIENT_SECURITY:
                (.noCommonCipher, "\(peer) requires stronger ciphers than we offer (alert insufficient_security)")
            case SSL_AD_NO_APPLICATION_PROTOCOL:
                (.noCommonProtocol, "\(peer) supports none of the protocols that we offer by ALPN")
            case SSL_AD_UNRECOGNIZED_NAME:
                (.peerAlert, "\(peer) does not know the server name that we requested (alert unrecognized_name)")
            default:
                (.peerAlert, "\(peer) ended TLS with alert \(alert) (\(Self.name(ofAlert: alert)))")
            }
        self.init(code, message: message, alert: alert)
    }

    private static func name(ofAlert alert: UInt8) -> String {
        unsafe String(cString: SSL_alert_desc_string_long(CInt(alert)))
    }
}
