/// The endpoint to connect to, and the time to wait before that.
struct EndpointMachine {
    let endpoints: [String]
    private(set) var current = 0
    private var failures = 0

    private static let minDelay = Duration.milliseconds(50)
    private static let maxDelay = Duration.seconds(2)

    /// - Parameter endpoints: At least one.
    init(_ endpoints: [String]) {
        self.endpoints = endpoints
    }

    var endpoint: String { endpoints.indices.contains(current) ? endpoints[current] : "" }

    mutating func succeeded() { failures = 0 }

    /// Chooses the next endpoint after a failure, and returns the time to wait. The first round over the endpoints has
    /// no delay; then the delay doubles with each round.
    ///
    /// - Parameter chance: A random number from 0 to 1, so that clients do not all come back at once.
    mutating func failed(chance: Double) -> Duration {
        failures += 1
        if !endpoints.isEmpty { current = (current + 1) % endpoints.count }
        let rounds = failures / max(1, endpoints.count)
        guard rounds > 0 else { return .zero }
        let delay = min(Self.minDelay * (1 << min(rounds - 1, 10)), Self.maxDelay)
        return delay * (0.5 + min(max(chance, 0), 1) / 2)
    }
}
