/// Where the push service of a browser listens: `https`, a host name and a port.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
    /// The name in lower case, or an IP address.
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16 = 443) {
        self.host = host
        self.port = port
    }

    /// The value of `:authority`: the host name, with the port if it is not 443.
    package var authority: String {
        let host = self.host.utf8.contains(UInt8(ascii: ":")) ? "[\(self.host)]" : self.host
        return port == 443 ? host : "\(host):\(port)"
    }

    package var description: String { "https://\(authority)" }
}
