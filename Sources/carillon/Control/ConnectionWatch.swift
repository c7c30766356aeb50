import PushLoop

/// For verbs that go on until Ctrl-C: tells when the Carillon that they ask is gone and when it is back, once each, and
/// paces how often they try.
struct ConnectionWatch {
    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(2)

    private let verb: String
    private var pause = ConnectionWatch.firstPause
    private var isLost = false

    init(verb: String) {
        self.verb = verb
    }

    /// It did not answer. Returns when it is worth another try.
    mutating func lost(_ failure: Failure) async throws {
        if !isLost {
            isLost = true
            Terminal.error.write("carillon \(verb): connection lost: \(failure); trying again until it is back\n")
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, Self.longestPause)
    }

    /// It answered.
    mutating func stands() {
        guard isLost else { return }
        isLost = false
        pause = Self.firstPause
        Terminal.error.write("carillon \(verb): connected again\n")
    }
}

extension Failure {
    /// Whether another try may succeed although nobody has corrected anything: the other side restarts, or is busy.
    var mayPass: Bool { code == .unavailable || code == .tryAgain }
}
