import PushModel
import PushTransport

extension ConnectionEnd {
    /// What the end of an HTTP/2 connection means for the next one.
    init(_ closure: HTTP2Closure, at address: String, wasConnected: Bool, reason: ProviderReason?) {
        let kind: Kind =
            switch closure {
            case .notConnected: .unreachable
            case .silent: .silent
            case .goAway: .goAway
            case .violation: .broken
            case .channel(.byUs): .byUs
            case .channel(.timedOut): .unreachable
            case .channel(.byPeer), .channel(.lost): wasConnected ? .lost : .broken
            case .channel(.tls(let error)): error.isAboutCredentials ? .credential : .broken
            }
        self.init(kind, "\(address): \(closure)", reason: reason)
    }
}

extension TLSError {
    /// The peer does not want our certificate, or wants one.
    fileprivate var isAboutCredentials: Bool {
        [.peerRequiresCertificate, .peerRefusedCertificate].contains(code)
    }
}
