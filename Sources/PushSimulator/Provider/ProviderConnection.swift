/// What the simulator remembers of one HTTP/2 connection. The transport keeps it and hands it in with each request.
package struct ProviderConnection: ~Copyable {
    package enum Services: Sendable {
        /// Everything on one port.
        case all
        /// Notifications and broadcasts only, as on Apple's 443 and 2197.
        case sending
        /// Channels only, as on Apple's 2195 and 2196.
        case management
    }

    /// Counted from 1 over all connections of the simulator.
    package let number: UInt32
    let environment: APNsEnvironment
    let services: Services
    let certificate: CertificateIdentity?

    package internal(set) var requests: UInt64 = 0
    var tokens = ProviderTokenCheck()
    /// The topic that was last found to be allowed, so that it is not looked for again.
    var permittedTopic = TopicBook.none
    /// Streams above it are not processed any more.
    package internal(set) var lastStream = Int32.max
    /// The stream limit that the client was last told.
    package internal(set) var streamLimit: UInt32
    /// The first valid token will lift the limit.
    var raisesStreams = false
    /// It takes everything and says nothing, not even PING answers.
    package internal(set) var isSilent = false
    /// A fault closes it: what still comes in is not looked at.
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
