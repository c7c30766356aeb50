/// The endpoint to connect to, and the time to wait before that.
struct EndpointMachine {
    let endpoints: [String]
    private(set) var current = 0
    /// The number of failures since the last success.
    private(set) var failures = 0
    /// Whether there was a connection in this round over the endpoints.
    private var wasConnected = false
    /// Whether names are looked up for IPv6 addresses now, otherwise for IPv4 addresses. libzmq tries one address only.
    private var triesIPv6 = false

    private static let minDelay = Duration.milliseconds(50)
    private static let maxDelay = Duration.seconds(2)

    /// - Parameter endpoints: At least one.
    init(_ endpoints: [String]) {
        self.endpoints = endpoints
    }

    var endpoint: String { endpoints.indices.contains(current) ? endpoints[current] : "" }

    /// Whether the next connection uses IPv6.
    var usesIPv6: Bool { endpoint.contains("[") || (triesIPv6 && hasName) }

    private var hasName: Bool {
        endpoint.hasPrefix("tcp://") && endpoint.dropFirst(6).contains { $0 != "." && $0 != ":" && !$0.isNumber }
    }

    mutating func connected() { wasConnected = true }

    mutating func succeeded() {
        failures = 0
        wasConnected = true
    }

    /// Chooses the next endpoint after a failure, and returns the time to wait. The first round over the endpoints has
    /// no delay; then the delay doubles with each round. Each round without a connection uses the other kind of
    /// addresses.
    ///
    /// - Parameter chance: A random number from 0 to 1, so that clients do not all come back at once.
    mutating func failed(chance: Double) -> Duration {
        failures += 1
        if !endpoints.isEmpty { current = (current + 1) % endpoints.count }
        if current == 0, !exchange(&wasConnected, with: false) { triesIPv6.toggle() }
        let rounds = failures / max(1, endpoints.count)
        guard rounds > 0 else { return .zero }
        let delay = min(Self.minDelay * (1 << min(rounds - 1, 10)), Self.maxDelay)
        return delay * (0.5 + min(max(chance, 0), 1) / 2)
    }
}
