import PushModel
import PushTransport

/// The one place that turns what the transport says into a fault and into what follows from it for the next
/// connection. HTTP/2, the legacy protocol and the look-up of a name all go through it.
extension ConnectionEnd {
    init(_ error: TCPError) {
        self.init(.unreachable, ConnectionFault(error))
    }

    /// - Parameters:
    ///   - place: where the connection led.
    ///   - wasConnected: the handshake had come to its end.
    init(_ closure: ChannelClosure, at place: String, wasConnected: Bool, reason: ProviderReason? = nil) {
        let kind: Kind =
            switch closure {
            case .byUs: .byUs
            case .timedOut: .unreachable
            case .byPeer, .lost: wasConnected ? .lost : .broken
            case .tls(let error): error.isAboutCredentials ? .credential : .broken
            }
        self.init(kind, ConnectionFault(closure.code, "\(place): \(closure)", reason: reason))
    }
}

extension ConnectionFault {
    /// Why the addresses of a push service, or a way to one of them, could not be had.
    init(_ error: any Error) {
        self.init((error as? TCPError)?.code.fault ?? .local, "\(error)")
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
            if error.isAboutCredentials { .certificateRefused } else if error.isAboutTrust { .notTrusted } else { .tls }
        }
    }
}

extension TLSError {
    /// The peer does not want our certificate, or wants one.
    fileprivate var isAboutCredentials: Bool {
        [.peerRequiresCertificate, .peerRefusedCertificate].contains(code)
    }

    /// We do not want the certificate of the peer.
    fileprivate var isAboutTrust: Bool {
        [
            .certificateExpired, .certificateNotYetValid, .untrustedIssuer, .selfSignedCertificate, .hostNameMismatch,
            .certificateRejected,
        ].contains(code)
    }
}
