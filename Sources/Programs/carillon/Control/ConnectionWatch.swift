import PushLoop

/// Reports, for verbs that run until Ctrl-C, that the connection to Carillon was lost and that it is restored, once each.
/// It also delays the attempts to reconnect.
struct ConnectionWatch {
    private static let firstPause = Duration.milliseconds(250)
    private static let maxPause = Duration.seconds(2)

    private let verb: String
    private var pause = ConnectionWatch.firstPause
    private var isLost = false

    init(verb: String) {
        self.verb = verb
    }

    /// Reports the loss of the connection if that is new, and returns when the verb may retry.
    mutating func lost(_ failure: Failure) async throws {
        if !isLost {
            isLost = true
            Terminal.error.write("carillon \(verb): connection lost: \(failure); retrying\n")
        }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, Self.maxPause)
    }

    /// Called after each response; reports that the connection is restored if it was lost.
    mutating func succeeded() {
        guard isLost else { return }
        isLost = false
        pause = Self.firstPause
        Terminal.error.write("carillon \(verb): reconnected\n")
    }
}

extension Failure {
    /// Whether a retry may succeed without any correction, because the server restarts or is busy.
    var mayPass: Bool { code == .unavailable || code == .tryAgain }
}
