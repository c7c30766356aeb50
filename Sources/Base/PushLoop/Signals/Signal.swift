import Glibc

/// A signal of the operating system.
package struct Signal: Hashable, Sendable, CustomStringConvertible, LogRepresentable {
    package let number: CInt

    package init(number: CInt) {
        precondition(number > 0 && number <= Self.maxNumber, "\(number) is not a signal number")
        self.number = number
    }

    static let maxNumber: CInt = 64

    package static let hangUp = Signal(number: SIGHUP)
    package static let interrupt = Signal(number: SIGINT)
    package static let quit = Signal(number: SIGQUIT)
    package static let terminate = Signal(number: SIGTERM)
    package static let user1 = Signal(number: SIGUSR1)
    package static let user2 = Signal(number: SIGUSR2)
    package static let pipe = Signal(number: SIGPIPE)
    package static let child = Signal(number: SIGCHLD)
    package static let windowChanged = Signal(number: SIGWINCH)

    package var description: String {
        switch self {
        case .hangUp: "SIGHUP"
        case .interrupt: "SIGINT"
        case .quit: "SIGQUIT"
        case .terminate: "SIGTERM"
        case .user1: "SIGUSR1"
        case .user2: "SIGUSR2"
        case .pipe: "SIGPIPE"
        case .child: "SIGCHLD"
        case .windowChanged: "SIGWINCH"
        default: "signal \(number)"
        }
    }

    package var logValue: LogValue { .string(description) }

    /// Makes the whole process ignore the signal. Used for SIGPIPE at start, so that `write` to a closed connection
    /// returns an error instead of ending the process.
    package func ignore() {
        var action = sigaction()
        unsafe action.__sigaction_handler.sa_handler = SIG_IGN
        let result = unsafe sigaction(number, &action, nil)
        precondition(result == 0, "cannot ignore \(self): \(SystemError.current)")
    }

    /// Whether the process ignores the signal.
    package var isIgnored: Bool {
        var action = sigaction()
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
