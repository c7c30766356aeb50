package import PushModel
package import PushTransport

extension Configuration {
    /// A receiver of events over HTTP.
    package struct Webhook: Sendable, Equatable {
        package static let defaultTimeout: Duration = .seconds(15)

        package let name: String
        package var address: HTTP1Address
        /// The beginnings of the topics whose events it gets.
        package var prefixes: [String]
        /// The file with one or two secrets, which sign the requests.
        package var secretFile: String
        package var trust = Endpoint.Trust.system
        /// The private networks in which the receiver may be.
        package var privateNetworks: [AddressRange] = []
        /// The time of one request, from the look-up of the name to the end of the response.
        package var timeout = Self.defaultTimeout
        /// Whether the receiver may be reached without TLS.
        package var insecure = false

        package init(name: String, address: HTTP1Address, prefixes: [String], secretFile: String) {
            self.name = name
            self.address = address
            self.prefixes = prefixes
            self.secretFile = secretFile
        }
    }
}
