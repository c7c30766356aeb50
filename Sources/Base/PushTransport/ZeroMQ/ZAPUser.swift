/// A client that the ZAP handler identifies by its public key.
package struct ZAPUser: Hashable, Sendable {
    /// The user id that messages of its connections carry: 1 to 255 bytes without NUL.
    package let id: String
    /// The ZAP domains to which it may connect; nil means all. Sockets that require different rights need separate
    /// domains, because libzmq asks only once per connection.
    package let domains: Set<String>?

    package init(id: String, domains: Set<String>? = nil) {
        self.id = id
        self.domains = domains
    }

    func mayConnect(to domain: String) -> Bool { domains?.contains(domain) ?? true }
}

/// The reason why the ZAP handler refused a connection.
package enum ZAPRefusalCause: String, Sendable, CaseIterable {
    /// No user has this key.
    case unknownKey = "unknown_key"
    /// A user has this key, but may not connect to this domain.
    case missingRight = "missing_right"
    /// The client did not prove a key.
    case mechanism
    /// The request was malformed.
    case malformed
}
