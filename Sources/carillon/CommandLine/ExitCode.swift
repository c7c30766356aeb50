/// How the process ends, for scripts (sysexits.h, as far as they fit).
enum ExitCode: Int32 {
    case done = 0
    case failed = 1
    case usage = 64
    case badInput = 65
    case unavailable = 69
    case tryAgain = 75
    case notPermitted = 77
    case configuration = 78
}

/// An end with a message for people: what happened, where, and what to do.
struct Failure: Error, CustomStringConvertible {
    let code: ExitCode
    let description: String

    init(_ code: ExitCode, _ description: String) {
        self.code = code
        self.description = description
    }
}
