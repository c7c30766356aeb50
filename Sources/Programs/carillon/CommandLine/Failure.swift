import PushConfiguration

/// An error that ends a verb. Its description says what happened, where, and what to do; its code is the exit status
/// for scripts.
struct Failure: Error, CustomStringConvertible {
    let code: ExitCode
    let description: String

    init(_ code: ExitCode, _ description: String) {
        self.code = code
        self.description = description
    }

    init(_ error: StartError) {
        self.init(ExitCode(error.code), error.description)
    }

    /// Converts an error of any part of the program.
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as StartError: self.init(error)
        default: self.init(.failed, "\(error)")
        }
    }

    /// Returns the result of `body`, whose errors become failures with their exit status.
    ///
    /// - Parameter advice: What else the user can do; added to the description of an error.
    static func converting<Value>(
        advice: String? = nil, _ body: () throws(StartError) -> Value
    ) throws(Failure) -> Value {
        do {
            return try body()
        } catch {
            throw Failure(ExitCode(error.code), error.description + (advice.map { "; \($0)" } ?? ""))
        }
    }
}
