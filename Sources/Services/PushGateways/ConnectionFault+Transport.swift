package import PushModel
package import PushTransport

/// Converts transport errors into faults and their consequence for the next connection. HTTP/2, the legacy protocol and
/// name look-ups all use this conversion.
extension ConnectionEnd {
    package init(_ error: TCPError) {
        self.init(.unreachable, fault: ConnectionFault(error))
    }

    /// - Parameters:
    ///   - endpoint: the host and port of the connection.
    ///   - wasConnected: whether the handshake had succeeded.
    package init(_ closure: ChannelClosure, at endpoint: String, wasConnected: Bool, reason: ProviderReason? = nil) {
        let kind: Kind =
            switch closure {
            case .byUs: .byUs
            case .timedOut: .unreachable
            case .byPeer, .lost: wasConnected ? .lost : .broken
            case .tls(let error): error.isAboutCredentials ? .credential : .broken
            }
        self.init(kind, fault: ConnectionFault(closure.code, sentence: "\(endpoint): \(closure)", reason: reason))
    }
}

extension ConnectionFault {
    /// Describes why a name look-up or a connection attempt failed.
    package init(_ error: any Error) {
        self.init((error as? TCPError)?.code.fault ?? .local, sentence: "\(error)")
    }

    /// Describes why a request of HTTP/1.1 has no answer.
    package init(_ fault: HTTP1ClientFault, at endpoint: String) {
        let code =
            switch fault.cause {
            case let error as TCPError: error.code.fault
            case let closure as ChannelClosure: closure.code
            default: Code.badProtocol
            }
        self.init(code, sentence: "\(endpoint): \(fault.reason)")
    }
}

extension TCPError.Code {
    fileprivate var fault: ConnectionFault.Code {
        switch self {
        case .nameNotFound: .nameNotFound
        case .refused: .refused
        case .unreachable: .unreachable
        case .timedOut: .timedOut
        case .badAddress, .addressInUse, .notPermitted, .cancelled, .other: .local
        }
    }
}

extension ChannelClosure {
    fileprivate var code: ConnectionFault.Code {
        switch self {
        case .byUs: .closed
        case .byPeer: .closedByPeer
        case .lost: .reset
        case .timedOut: .timedOut
        case .tls(let error):
            if error.isAboutCredentials {
                .certificateRefused
            } else if error.isAboutTrust {
                .notTrusted
            } else if error.code == .noCommonProtocol {
                .noCommonProtocol
            } else {
                .tls
            }
        }
    }
}

extension TLSError {
    /// Whether the peer rejected our certificate, or requires one.
    fileprivate var isAboutCredentials: Bool {
        [.peerRequiresCertificate, .peerRefusedCertificate].contains(code)
    }

    /// Whether we reject the peer's certificate.
    fileprivate var isAboutTrust: Bool {
        [
            .certificateExpired, .certificateNotYetValid, .untrustedIssuer, .selfSignedCertificate, .hostNameMismatch,
            .certificateRejected,
        ].contains(code)
    }
}
