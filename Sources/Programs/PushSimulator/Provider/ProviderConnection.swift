/// The state of one HTTP/2 connection. The transport keeps it and passes it in with each request.
package struct ProviderConnection: ~Copyable {
    package enum Services: Sendable {
        /// All services on one port.
        case all
        /// Notifications and broadcasts only, as on Apple's ports 443 and 2197.
        case sending
        /// Channel management only, as on Apple's ports 2195 and 2196.
        case management
    }

    /// The number of the connection, counted from 1 over all connections of the simulator.
    package let number: UInt32
    let environment: APNsEnvironment
    let services: Services
    let certificate: CertificateIdentity?

    package internal(set) var requests: UInt64 = 0
    var tokens = ProviderTokenCheck()
    /// The topic that was last found to be allowed, cached to skip the check for the next request.
    var permittedTopic = KnownTopics.none
    /// The last stream that is processed. Streams above it are ignored.
    package internal(set) var lastStream = Int32.max
    /// The stream limit that was last announced to the client.
    package internal(set) var streamLimit: UInt32
    /// Whether the first valid token raises the stream limit.
    var raisesStreams = false
    /// Whether the connection reads everything and sends nothing, not even PING acknowledgments.
    package internal(set) var isSilent = false
    /// Whether a fault is closing the connection. Further requests are ignored.
    package internal(set) var isClosing = false

    init(
        number: UInt32, environment: APNsEnvironment, services: Services, certificate: CertificateIdentity?,
        streamLimit: UInt32
    ) {
        self.number = number
        self.environment = environment
        self.services = services
        self.certificate = certificate
        self.streamLimit = streamLimit
    }
}
