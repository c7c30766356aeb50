/// A client that the ZAP handler knows by its public key.
package struct ZAPUser: Hashable, Sendable {
    /// What messages of its connections carry as their sender: 1 to 255 bytes, no NUL.
    package let id: String
    /// The ZAP domains that it may connect to; nil: all of them. Sockets that ask for different rights need domains of
    /// their own, because libzmq asks once for each connection and never again.
    package let domains: Set<String>?

    package init(id: String, domains: Set<String>? = nil) {
        self.id = id
        self.domains = domains
    }

    func mayConnect(to domain: String) -> Bool { domains?.contains(domain) ?? true }
}

/// Why the ZAP handler refused a connection.
package enum ZAPRefusalCause: String, Sendable, CaseIterable {
    /// No user has this key.
    case unknownKey = "unknown_key"
    /// A user has this key, but may not connect to this domain.
    case missingRight = "missing_right"
    /// The client proved no key.
    case mechanism
    /// The question made no sense.
    case malformed
}
