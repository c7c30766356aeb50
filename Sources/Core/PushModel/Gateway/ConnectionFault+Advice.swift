extension ConnectionFault.Code {
    /// What to do about it; nil if there is nothing that an operator can do.
    package var advice: String? {
        switch self {
        case .nameNotFound: "check the DNS of this machine: the name of the push service has no address"
        case .refused:
            "check that the push service listens at this address, and that no firewall refuses the connection"
        case .unreachable: "check the network of this machine: there is no route to the push service"
        case .timedOut: "check the firewall: outgoing connections to the push service must be allowed"
        case .reset:
            "Carillon connects again by itself; if this repeats, check the network between here and the push service"
        case .closedByPeer: "Carillon connects again by itself; if this repeats, check the credential"
        case .notTrusted:
            "check endpoint.trust, or the CA certificates of this machine without it: the certificate of the push service "
                + "is not trusted"
        case .certificateRefused:
            "renew the certificate of the app, or check that it is one of this app; then reload"
        case .noCommonProtocol: "check that the endpoint is a push service, and that no proxy before it removes HTTP/2"
        case .tls: "check the TLS settings of the app, and the clock of this machine"
        case .badProtocol: "check that the endpoint is a push service and not a proxy"
        case .silent: "Carillon connects again by itself; if this repeats, check the network"
        case .goAway: "Carillon connects again by itself"
        case .credentialRefused:
            "check the credential of the app, and that the push service has not revoked it; then reload"
        case .local: "check the limits of this machine: open files, memory and ports"
        case .closed: nil
        }
    }
}
